"""A kernel's traffic in few words: the five figures that Nsight Compute judges memory by, and its accesses.

The metrics of a sheet in; facts, each a name and a line, out. What was not recorded is left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from profiler.analyse.recording.overview import SheetMetric
from profiler.text import number

Fact = tuple[str, str]

# As Nsight Compute calls them in its section MemoryWorkloadAnalysis.
_RATES = {"max_bandwidth_pct": "Max Bandwidth", "mem_pipes_busy_pct": "Mem Pipes Busy"}
_HITS = {"l1_hit_pct": "L1/TEX Hit Rate", "l2_hit_pct": "L2 Hit Rate"}


def memory_facts(metrics: Sequence[SheetMetric]) -> list[Fact]:
    means = {metric.name: metric.mean for metric in metrics}
    moved = means.get("dram_bytes_per_s")
    throughput = [] if moved is None else [f"Memory Throughput {number(moved / 1e9)} GB/s"]
    facts = [
        ("memory", ", ".join([*throughput, *_percentages(_RATES, means)])),
        ("caches", ", ".join(_percentages(_HITS, means))),
        ("accesses", "; ".join(_accesses(means))),
    ]
    return [fact for fact in facts if fact[1]]


def _percentages(names: Mapping[str, str], means: Mapping[str, float]) -> list[str]:
    return [f"{label} {means[name]:.1f} %" for name, label in names.items() if name in means]


def _accesses(means: Mapping[str, float]) -> list[str]:
    told = []
    if "bulk_loads" in means:
        loads, stores = (width_text(means, kind) for kind in ("load", "store"))
        told.append(f"bits per global access: loads {loads}, stores {stores}")
    if "inst_per_byte" in means:
        told.append(f"{number(means['inst_per_byte'])} instructions of all lanes per useful byte")
    return told


def width_text(means: Mapping[str, float], kind: str) -> str:
    """Of loads or of stores: `128`, `bulk` for blocks, whose instructions tell no width, both, or `-` for none."""
    width_bits = means.get(f"{kind}_width_bits")
    parts = [] if width_bits is None else [f"{width_bits:.0f}"]
    return "+".join([*parts, *(["bulk"] if means.get(f"bulk_{kind}s") else [])]) or "-"
