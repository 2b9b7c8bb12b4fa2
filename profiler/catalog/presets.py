"""Lists what each preset asks ncu for, and what that costs.

Runs of one preset can be compared with each other. A preset names its metrics itself, in ncu's words: a new entry
in the catalogue of metrics changes no preset, so it makes no recorded run stale. Add the metric here as well
to record it from now on. That makes the runs of this preset stale, and its passes must be counted again.

A pass is one replay of the kernel. `MEASURED_ON` names the GPU on which the passes were counted; others differ.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from profiler.catalog.metrics import find_metric
from profiler.errors import MetricNotFound, PresetNotFound
from profiler.text import nearest_hint

MEASURED_ON = "NVIDIA H200, ncu 2025.3.1"

_COUNTED = ("MemoryWorkloadAnalysis", "WarpStateStats", "InstructionStats")
_STALL = "smsp__average_warps_issue_stalled_{}_per_issue_active.ratio"
_STALL_REASONS = (
    "mio_throttle", "short_scoreboard", "long_scoreboard", "lg_throttle", "tex_throttle",
    "math_pipe_throttle", "barrier", "membar", "branch_resolving", "dispatch_stall", "drain",
    "imc_miss", "no_instruction", "gmma", "misc", "sleeping", "wait", "not_selected", "selected",
)  # fmt: skip
# Everything that a comparison reads. The sections bring most of it; the rest costs one pass.
_COMPARED = (
    "gpu__time_duration.sum",
    "sm__cycles_elapsed.max",
    "sm__cycles_elapsed.avg.per_second",
    "sm__issue_active.avg.pct_of_peak_sustained_elapsed",
    "sm__pipe_fma_cycles_active.avg.pct_of_peak_sustained_elapsed",
    "sm__inst_executed_pipe_lsu.avg.pct_of_peak_sustained_elapsed",
    "sm__inst_executed_pipe_alu.avg.pct_of_peak_sustained_elapsed",
    "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed",
    *map(_STALL.format, _STALL_REASONS),
    "smsp__average_warp_latency_per_inst_issued.ratio",
    "dram__bytes.sum.per_second",
    "dram__bytes_read.sum",
    "dram__bytes_write.sum",
    "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed",
    "gpu__compute_memory_access_throughput.avg.pct_of_peak_sustained_elapsed",
    "gpu__compute_memory_request_throughput.avg.pct_of_peak_sustained_elapsed",
    "sm__memory_throughput.avg.pct_of_peak_sustained_elapsed",
    "l1tex__t_sector_hit_rate.pct",
    "lts__t_sector_hit_rate.pct",
    "lts__t_sectors_srcunit_tex.sum",
    "l1tex__throughput.avg.pct_of_peak_sustained_active",
    "lts__throughput.avg.pct_of_peak_sustained_elapsed",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum",
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum",
    "sm__warps_active.avg.pct_of_peak_sustained_active",
    "sm__maximum_warps_per_active_cycle_pct",
    "smsp__warps_active.avg.per_cycle_active",
    "smsp__warps_eligible.avg.per_cycle_active",
    "launch__registers_per_thread",
    "launch__shared_mem_per_block_allocated",
    "launch__occupancy_limit_registers",
    "launch__occupancy_limit_shared_mem",
    "launch__waves_per_multiprocessor",
    "smsp__inst_executed.sum",
    "smsp__inst_issued.sum",
    "sm__inst_executed.avg.per_cycle_elapsed",
    "smsp__issue_active.avg.per_cycle_active",
    "smsp__thread_inst_executed_per_inst_executed.ratio",
    "sass__inst_executed_register_spilling",
)


SAMPLED = "SourceCounters"  # the section of accesses and of samples
_DEFAULT = "default"


@dataclass(frozen=True)
class Preset:
    name: str
    doc: str
    passes: int | None = None  # unknown after additions
    sections: tuple[str, ...] = ()
    metrics: tuple[str, ...] = ()  # ncu's names
    required: tuple[str, ...] = ()  # without one of these, the recording failed
    set: str | None = None
    import_source: bool = False

    def with_more(self, sections: Iterable[str], metrics: Iterable[str], set: str | None) -> Preset:
        """Returns the preset with additions of the user.

        An added metric is required, because ncu leaves out a misspelt name without an error. One word may hold
        several metrics with commas between them, as ncu takes them.
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
        _DEFAULT,
        "Everything that a diagnosis reads: counters, counts and stall samples of every instruction, source files.",
        passes=16,
        sections=(*_COUNTED, SAMPLED),
        metrics=_COMPARED,
        import_source=True,
    ),
    Preset(
        "counters",
        "The default without stall samples, the sectors of each access and the source files.",
        passes=14,
        sections=_COUNTED,
        metrics=_COMPARED,
    ),
    Preset(
        "four-way",
        "Only the four-way confirmation: duration, issue-active, FMA pipe, LSU pipe and two stalls.",
        passes=3,
        metrics=(
            "gpu__time_duration.sum",
            "sm__issue_active.avg.pct_of_peak_sustained_elapsed",
            "sm__pipe_fma_cycles_active.avg.pct_of_peak_sustained_elapsed",
            "sm__inst_executed_pipe_lsu.avg.pct_of_peak_sustained_elapsed",
            "smsp__average_warps_issue_stalled_mio_throttle_per_issue_active.ratio",
            "smsp__average_warps_issue_stalled_short_scoreboard_per_issue_active.ratio",
        ),
    ),
    Preset(
        "memory",
        "The five figures of a memory-bound kernel: throughput, max bandwidth, L1 and L2 hit rate, mem pipes busy.",
        passes=7,
        metrics=(
            "gpu__time_duration.sum",
            "dram__bytes.sum.per_second",
            "gpu__compute_memory_request_throughput.avg.pct_of_peak_sustained_elapsed",
            "l1tex__t_sector_hit_rate.pct",
            "lts__t_sector_hit_rate.pct",
            "sm__memory_throughput.avg.pct_of_peak_sustained_elapsed",
        ),
    ),
    Preset(
        "full",
        "Every section of Nsight Compute, for its own interface and rules.",
        passes=38,
        metrics=_COMPARED,
        set="full",
        import_source=True,
    ),
)


ANY_PROGRAM = " --name NAME -- PROGRAM"
_BY_NCU = "ncu --set full --import-source yes"


def record_all(program: str) -> str:
    """Returns the command that records what a diagnosis needs, and that of Nsight Compute alone, for where prof is not installed."""
    return f"`prof collect{program}`, or with `{_BY_NCU} -o NAME PROGRAM` where prof is not installed"


def more_launches() -> str:
    """Returns how to record several launches of each kernel, without which no difference has an interval."""
    return (
        "`ncu --launch-count 5` records the first five that a program makes, and `prof collect --processes 5` some in each of "
        "five processes"
    )


def what_records_all(preset: str | None = None, sections: Sequence[str] = ()) -> str:
    """Returns what records all that a diagnosis needs. If prof recorded less itself, it did so by this preset; the default once was less."""
    if preset is None or SAMPLED in sections:
        return f"`prof collect` records it, and so does `{_BY_NCU}`"
    if preset == _DEFAULT:
        return "An older version of prof made this recording; `prof collect` of this version records it"
    return f"It was recorded with `--preset {preset}`; `prof collect` without that records it"


def find_preset(name: str) -> Preset:
    for preset in PRESETS:
        if preset.name == name:
            return preset
    names = [preset.name for preset in PRESETS]
    # Older versions had a preset for the source, and their runs keep its name.
    hint = "; 'default' records what it did" if name == "source" else nearest_hint(name, names)
    raise PresetNotFound(f"no preset '{name}'{hint}; there are {', '.join(names)}")


def _ncu_name(name: str) -> str:
    """Translates a name of the catalogue into ncu's; any other name must be one of ncu's own."""
    try:
        metric = find_metric(name)
    except MetricNotFound:
        if "__" not in name:  # every name of ncu has it, none of the catalogue does
            raise
        return name
    if not metric.ncu:
        raise MetricNotFound(
            f"'{name}' is derived from executed instructions: add --section InstructionStats"
        )
    return name if name in metric.ncu else metric.ncu[0]
