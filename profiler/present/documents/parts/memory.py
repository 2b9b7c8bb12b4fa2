"""Says how a kernel uses memory, as facts: its traffic, the hit rates of its caches, and the width of its accesses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from profiler.analyse.recording.overview import SheetMetric
from profiler.text import number

# The names in the section MemoryWorkloadAnalysis of Nsight Compute.
_LINKS, _PIPES = {"max_bandwidth_pct": "Max Bandwidth"}, {"mem_pipes_busy_pct": "Mem Pipes Busy"}
_CACHES = {"l2_throughput_pct": "L2", "l1_throughput_pct": "L1"}
_WIDTHS = (8, 16, 32, 64, 128)  # of one access, in bits
_OCCUPANCY = {"occupancy_pct": "Achieved Occupancy", "occupancy_limit_pct": "Theoretical Occupancy"}
_HITS = {"l1_hit_pct": "L1/TEX Hit Rate", "l2_hit_pct": "L2 Hit Rate"}
_ROUNDS_ABOVE_ALL = 100.05  # is printed as more than 100 %
Fact = tuple[str, str]


def memory_facts(metrics: Sequence[SheetMetric]) -> list[Fact]:
    """Returns the occupancy, how busy memory and caches are, the accesses, and the five figures by which Nsight Compute judges memory.

    What is not recorded is left out.
    """
    means = {metric.name: metric.mean for metric in metrics}
    links = [f"{text} (of the fullest link)" for text in _percentages(_LINKS, means)]
    facts = [
        ("occupancy", ", ".join(_percentages(_OCCUPANCY, means))),
        ("memory", ", ".join(_throughputs(means))),
        ("links", ", ".join([*links, *_percentages(_PIPES, means)])),
        ("caches", ", ".join(_hit_rates(means))),
        ("accesses", "; ".join(_accesses(means))),
    ]
    return [fact for fact in facts if fact[1]]


def _percentages(names: Mapping[str, str], means: Mapping[str, float]) -> list[str]:
    return [f"{label} {means[name]:.1f} %" for name, label in names.items() if name in means]


def _throughputs(means: Mapping[str, float]) -> list[str]:
    """Returns what device memory moves, which part of its peak that is, and how busy the caches are, of their peaks."""
    moved, used_pct = means.get("dram_bytes_per_s"), means.get("dram_throughput_pct")
    told = "" if moved is None else f"Memory Throughput {number(moved / 1e9)} GB/s"
    if used_pct is not None:
        told += f" ({used_pct:.1f} % of its peak)" if told else f"device memory {used_pct:.1f} %"
    return [*([told] if told else []), *_percentages(_CACHES, means)]


def _hit_rates(means: Mapping[str, float]) -> list[str]:
    """Returns the hit rates; with one above 100 %, why that may be."""
    shown = {name: value for name, value in means.items() if name in _HITS}
    rates = _percentages(_HITS, shown)
    above = any(value >= _ROUNDS_ABOVE_ALL for value in shown.values())
    return [*rates, "hits and lookups are counted in different passes"] if above else rates


def _accesses(means: Mapping[str, float]) -> list[str]:
    facts = []
    if "bulk_loads" in means:
        widths = [text for kind in ("load", "store") if (text := _width_in_words(means, kind))]
        if widths:
            facts.append(f"global memory: {', '.join(widths)}")
    if "inst_per_byte" in means:
        facts.append(f"{number(means['inst_per_byte'])} instructions of all lanes per useful byte")
    return facts


def _width_in_words(means: Mapping[str, float], kind: str) -> str:
    """Returns what a thread loads or stores in one instruction, in words: a width, and whether it is an average that no access has.

    Of none, it says nothing: a kernel without stores may leave its results by atomics, which are not counted here.
    """
    width_bits = means.get(f"{kind}_width_bits")
    is_mean = width_bits is not None and width_bits not in _WIDTHS
    widths = "of several widths, " if is_mean else "of "
    ways = [] if width_bits is None else [f"{widths}{width_bits:.0f} bits a thread{' on average' * is_mean}"]
    if means.get(f"bulk_{kind}s"):
        ways.append("of blocks")
    return f"{kind}s {' and '.join(ways)}" if ways else ""


def width_text(means: Mapping[str, float], kind: str) -> str:
    """Returns the width of loads or of stores in bits: `128`, `bulk`, `128+bulk`, or `-` for none.

    Copies of blocks are `bulk`, because their instructions have no width.
    """
    width_bits = means.get(f"{kind}_width_bits")
    parts = [] if width_bits is None else [f"{width_bits:.0f}"]
    return "+".join([*parts, *(["bulk"] if means.get(f"bulk_{kind}s") else [])]) or "-"
