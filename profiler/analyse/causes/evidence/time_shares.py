"""Derives where the time of a kernel went, in shares, from the catalogue's metrics.

A `Profile` in; its figures out, in percent of the elapsed time unless a name says otherwise:
the mean of each metric over the launches, and what follows from them. A figure
whose metrics were not recorded is left out. Nothing is clamped: figures that cannot be, such
as a negative share, show that the counters do not fit together.

A scheduler issues in `issue_active_pct` of the time, has no warp at all in `empty_pct`, and
in the rest, `stalled_pct`, has warps of which none can issue. That rest is divided
among the stall reasons as the cycles of the waiting warps are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from profiler.analyse.recording.profile import Profile

Figures = Mapping[str, float]
# What `memory_pct` may differ by from a unit whose reading it repeats: they come from different passes.
_SAME_READING = 1.0
# The limits to the blocks of an SM that are no metrics of the catalogue.
_BLOCK_LIMITS = ("launch__occupancy_limit_warps", "launch__occupancy_limit_blocks")


@dataclass(frozen=True)
class Derived:
    """A figure computed from others; `optional` ones are used where they are recorded."""

    name: str
    doc: str
    needs: tuple[str, ...]
    formula: Callable[[Figures], float | None]
    optional: tuple[str, ...] = ()


def derive_figures(profile: Profile) -> dict[str, float]:
    figures = {name: series.mean for name, series in profile.series.items()}
    limits = [found.mean for name in _BLOCK_LIMITS if (found := profile.find(name))]
    if limits:
        figures["blocks_by_size"] = min(limits)
    for derived in DERIVED:
        if all(name in figures for name in derived.needs):
            try:
                value = derived.formula(figures)
            except ZeroDivisionError:  # nothing of the kind happened, so it has no share
                continue
            if value is not None:
                figures[derived.name] = value
    return figures


def metrics_behind(names: Iterable[str]) -> list[str]:
    """Lists the metrics of the catalogue that these figures are made of, in order and each once."""
    found: dict[str, None] = {}
    for name in names:
        derived = _BY_NAME.get(name)
        inner = [name] if derived is None else metrics_behind((*derived.needs, *derived.optional))
        found |= dict.fromkeys(inner)
    return list(found)


def _active(figures: Figures) -> float:
    """Divides two rates: one metric counts issues per elapsed cycle, the other per cycle in which the scheduler has a warp."""
    return figures["issue_active_pct"] / figures["issue_rate"]


def _stalled_for(*reasons: str) -> Callable[[Figures], float]:
    def share(figures: Figures) -> float:
        # Warps that issue, or could, do not hold the scheduler up.
        waiting = figures["warp_latency"] - figures["stall_selected"] - figures["stall_not_selected"]
        return figures["stalled_pct"] * sum(figures[f"stall_{reason}"] for reason in reasons) / waiting

    return share


def _stalls(name: str, doc: str, *reasons: str) -> Derived:
    stalls = tuple(f"stall_{reason}" for reason in reasons)
    needs = ("stalled_pct", "warp_latency", "stall_selected", "stall_not_selected", *stalls)
    return Derived(name, doc, needs, _stalled_for(*reasons))


def _shared(figures: Figures) -> float:
    """Returns passes per SM and cycle; shared memory makes one at most.

    Instructions executed, by their rate per SM and cycle, are the cycles of all SMs.
    """
    return 100 * figures["shared_wavefronts"] * figures["inst_per_cycle"] / figures["inst_executed"]


def _unexplained(figures: Figures) -> float | None:
    """Returns the share of the busiest unit or link, unless that is device memory, L1 or the load/store pipe."""
    busiest = max(figures["mem_busy_pct"], figures["max_bandwidth_pct"])
    known = [figures[name] for name in ("dram_throughput_pct", "l1_pct", "lsu_pipe_pct") if name in figures]
    return busiest if all(busiest > reading + _SAME_READING for reading in known) else None


def _l2(figures: Figures) -> float | None:
    """Returns the share of L2 where it is the busiest, or shares the busiest link.

    `l2_throughput_pct` alone is not enough: it also counts an activity that none of L2's
    own counters shows. On kernels that stream through device memory it reads 92 % where
    the busiest of those counters reads 59 %.
    """
    busiest = figures["memory_pct"]
    return busiest if figures["l2_throughput_pct"] >= busiest - _SAME_READING else None


def _ways(kind: str) -> Callable[[Figures], float]:
    def ways(figures: Figures) -> float:
        """Returns the passes made for each pass needed; 1 where nothing was accessed."""
        wavefronts = figures[f"{kind}_wavefronts"]
        return wavefronts / (wavefronts - figures[f"{kind}_conflicts"]) if wavefronts else 1.0

    return ways


def _rest_of(what: str) -> Callable[[Figures], float]:
    """Counts what is neither a load nor a store: asynchronous copies and atomics."""
    return lambda figures: (
        figures[f"shared_{what}"] - figures[f"shared_load_{what}"] - figures[f"shared_store_{what}"]
    )


_RESOURCES = (
    "dram_throughput_pct", "memory_pct", "l1_pct", "lsu_pipe_pct", "issue_active_pct", "fma_pipe_pct",
    "alu_pipe_pct", "tensor_pipe_pct",
)  # fmt: skip


def _left(figures: Figures) -> float | None:
    return 100 - max(figures[name] for name in _RESOURCES if name in figures)


# In this order: each may use those above it.
DERIVED = (
    Derived("dram_gbytes_per_s", "Gigabytes a second to and from device memory.", ("dram_bytes_per_s",),
            lambda figures: figures["dram_bytes_per_s"] / 1e9),
    Derived("active_pct", "A scheduler has at least one warp.", ("issue_active_pct", "issue_rate"), _active),
    Derived("empty_pct", "A scheduler has no warp.", ("active_pct",), lambda figures: 100 - figures["active_pct"]),
    Derived("stalled_pct", "A scheduler has warps, and none can issue.", ("active_pct",),
            lambda figures: figures["active_pct"] - figures["issue_active_pct"]),
    Derived("other_slots_pct", "A scheduler issues something else than an instruction of the FMA pipe.",
            ("issue_active_pct", "fma_pipe_pct"),
            lambda figures: figures["issue_active_pct"] - figures["fma_pipe_pct"]),
    Derived("divergent_pct", "A scheduler issues for lanes that are switched off.",
            ("issue_active_pct", "threads_per_inst"),
            lambda figures: figures["issue_active_pct"] * (1 - figures["threads_per_inst"] / 32)),
    Derived("spilling_pct", "A scheduler issues an instruction that spills registers.",
            ("issue_active_pct", "local_spill_inst", "inst_executed"),
            lambda figures: figures["issue_active_pct"] * figures["local_spill_inst"] / figures["inst_executed"]),
    _stalls("global_wait_pct", "Stalled on results of global or local memory.", "long_scoreboard"),
    _stalls("shared_wait_pct", "Stalled on results of shared memory.", "short_scoreboard"),
    _stalls("math_wait_pct", "Stalled on the instruction before.", "wait", "gmma"),
    Derived("latency_pct", "Stalled on any result.", ("global_wait_pct", "shared_wait_pct", "math_wait_pct"),
            lambda figures: figures["global_wait_pct"] + figures["shared_wait_pct"] + figures["math_wait_pct"]),
    _stalls("mio_pct", "Stalled on room in the MIO queue.", "mio_throttle"),
    _stalls("lg_pct", "Stalled on room in the queue of global and local memory.", "lg_throttle"),
    _stalls("barrier_pct", "Stalled at a barrier.", "barrier", "membar"),
    _stalls("dispatch_pct", "Stalled by the dispatcher, such as on register banks.", "dispatch"),
    _stalls("fetch_pct", "Stalled on fetching instructions.", "no_instruction", "branch_resolving", "imc_miss"),
    _stalls("math_pipe_pct", "Stalled on a busy arithmetic pipe.", "math_pipe_throttle"),
    Derived("l1_pct", "L1, which shared memory is a part of, is busy.", ("l1_throughput_pct", "active_pct"),
            lambda figures: figures["l1_throughput_pct"] * figures["active_pct"] / 100),
    Derived("l1_cycles_per_access", "Cycles that L1 works for each load or store instruction.",
            ("l1_pct", "lsu_pipe_pct"), lambda figures: figures["l1_pct"] / figures["lsu_pipe_pct"]),
    Derived("shared_pct", "Shared memory makes a pass.", ("shared_wavefronts", "inst_per_cycle", "inst_executed"), _shared),
    Derived("shared_of_l1_pct", "Of L1's work, that of shared memory.", ("shared_pct", "l1_pct"),
            lambda figures: 100 * figures["shared_pct"] / figures["l1_pct"]),
    Derived("conflict_share_pct", "Of the passes through shared memory, those because of bank conflicts.",
            ("shared_conflicts", "shared_wavefronts"),
            lambda figures: 100 * figures["shared_conflicts"] / figures["shared_wavefronts"]),
    Derived("conflict_pct", "Shared memory makes a pass because of a bank conflict.", ("conflict_share_pct", "shared_pct"),
            lambda figures: figures["conflict_share_pct"] * figures["shared_pct"] / 100),
    Derived("shared_copy_wavefronts", "Passes of asynchronous copies and atomics.",
            ("shared_wavefronts", "shared_load_wavefronts", "shared_store_wavefronts"), _rest_of("wavefronts")),
    Derived("shared_copy_conflicts", "Of them, those because of bank conflicts.",
            ("shared_conflicts", "shared_load_conflicts", "shared_store_conflicts"), _rest_of("conflicts")),
    Derived("load_ways", "Passes of a load for each that it needs.",
            ("shared_load_wavefronts", "shared_load_conflicts"), _ways("shared_load")),
    Derived("store_ways", "Passes of a store for each that it needs.",
            ("shared_store_wavefronts", "shared_store_conflicts"), _ways("shared_store")),
    Derived("copy_ways", "Passes of a copy or an atomic for each that it needs.",
            ("shared_copy_wavefronts", "shared_copy_conflicts"), _ways("shared_copy")),
    Derived("memory_pct", "Something between the SMs and device memory is busy that is none of the known units.",
            ("mem_busy_pct", "max_bandwidth_pct"), _unexplained,
            optional=("dram_throughput_pct", "l1_pct", "lsu_pipe_pct")),
    Derived("l2_pct", "L2, or a link to it, is busy.", ("memory_pct", "l2_throughput_pct"), _l2),
    Derived("left_pct", "The busiest resource is idle: what can be won without relieving it.", ("issue_active_pct",),
            _left, optional=_RESOURCES),
    Derived("occupancy_cost_pct", "Stalled on results, by the share of the warps that are missing from a full SM.",
            ("latency_pct", "left_pct", "occupancy_limit_pct"),
            lambda figures: min(figures["latency_pct"], figures["left_pct"]) * (1 - figures["occupancy_limit_pct"] / 100)),
)  # fmt: skip

_BY_NAME = {derived.name: derived for derived in DERIVED}
