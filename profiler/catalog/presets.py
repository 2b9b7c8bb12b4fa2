"""What to ask ncu for, as data: sections and metrics under a name, and what they cost.

Runs of one preset can be compared with each other. A pass is one replay of the kernel; how many
a preset needs was counted on the GPU named by `MEASURED_ON`, and differs on others.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass, replace

from profiler.catalog.metrics import BY_NAME, CATALOGUE, find_metric
from profiler.errors import MetricNotFound, PresetNotFound

MEASURED_ON = "NVIDIA H200, ncu 2025.3.1"

_SECTIONS = ("MemoryWorkloadAnalysis", "WarpStateStats", "InstructionStats")
# All that a comparison reads. The sections bring most of it; the rest costs one pass.
_EVERYTHING = tuple(metric.ncu[0] for metric in CATALOGUE if metric.ncu)


@dataclass(frozen=True)
class Preset:
    name: str
    doc: str
    passes: int | None = None  # not known where something was added
    sections: tuple[str, ...] = ()
    metrics: tuple[str, ...] = ()  # ncu's names
    required: tuple[str, ...] = ()  # those without which the recording is a failure
    set: str | None = None
    import_source: bool = False

    def with_more(self, sections: Iterable[str], metrics: Iterable[str], set: str | None) -> Preset:
        """What a user adds by hand is required: ncu would leave out a misspelt name in silence.

        Several metrics may be one word with commas, as ncu takes them.
        """
        names = [name.strip() for word in metrics for name in word.split(",") if name.strip()]
        asked = tuple(dict.fromkeys(map(_ncu_name, names)))
        more = tuple(dict.fromkeys(name for name in sections if name not in self.sections))
        if not (asked or more or set):
            return self
        return replace(
            self,
            passes=None,
            sections=self.sections + more,
            metrics=tuple(dict.fromkeys([*self.metrics, *asked])),
            required=asked,
            set=set or self.set,
        )


PRESETS: tuple[Preset, ...] = (
    Preset(
        "default",
        "All that a comparison reads: memory, warp states, executed instructions, pipes, occupancy, clock.",
        passes=14,
        sections=_SECTIONS,
        metrics=_EVERYTHING,
    ),
    Preset(
        "four-way",
        "The confirmation alone: duration, issue-active, FMA pipe, LSU pipe and the two stalls.",
        passes=3,
        metrics=tuple(
            BY_NAME[name].ncu[0]
            for name in (
                *("duration_ns", "issue_active_pct", "fma_pipe_pct", "lsu_pipe_pct"),
                *("stall_mio_throttle", "stall_short_scoreboard"),
            )
        ),
    ),
    Preset(
        "memory",
        "A memory-bound kernel's five figures: throughput, max bandwidth, L1 and L2 hit rate, mem pipes busy.",
        passes=7,
        metrics=tuple(
            BY_NAME[name].ncu[0]
            for name in (
                *("duration_ns", "dram_bytes_per_s", "max_bandwidth_pct"),
                *("l1_hit_pct", "l2_hit_pct", "mem_pipes_busy_pct"),
            )
        ),
    ),
    Preset(
        "source",
        "The default, with stall samples of every instruction and the source files in the report.",
        passes=16,
        sections=(*_SECTIONS, "SourceCounters"),
        metrics=_EVERYTHING,
        import_source=True,
    ),
    Preset(
        "full",
        "Every section of Nsight Compute, for its own interface and rules.",
        passes=38,
        metrics=_EVERYTHING,
        set="full",
        import_source=True,
    ),
)


def find_preset(name: str) -> Preset:
    for preset in PRESETS:
        if preset.name == name:
            return preset
    names = [preset.name for preset in PRESETS]
    near = difflib.get_close_matches(name, names, n=1)
    hint = f"; nearest: {near[0]}" if near else f"; there is {', '.join(names)}"
    raise PresetNotFound(f"no preset '{name}'{hint}")


def _ncu_name(name: str) -> str:
    """Ours in ncu's words; what the catalogue does not know is ncu's own."""
    try:
        metric = find_metric(name)
    except MetricNotFound:
        if "__" not in name:  # every name of ncu's has it, none of ours
            raise
        return name
    if not metric.ncu:
        raise MetricNotFound(
            f"'{name}' is derived from executed instructions: add --section InstructionStats"
        )
    return name if name in metric.ncu else metric.ncu[0]
