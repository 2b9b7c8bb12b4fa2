"""Says whether two figures that have no interval lie further apart than those of launches of one kernel do."""

from __future__ import annotations

from profiler.catalog.metrics import DURATION
from profiler.text import duration

# The launches of one kernel, of one shape, in one run of `runs/` lie at most 7.02 % apart (185 kernels, 1,814 launches; the
# largest is layernorm 2 of 24 November, in a single process). Of 19 in 20 kernels they lie at most 1.5 % apart, and two runs of one kernel,
# hours apart, 3 %. `prof query` computes it: max(value) / min(value) of gpu__time_duration.sum by run, kernel and grid.
_LAUNCHES_APART_PCT = 7.1

# The same of other metrics. A kernel executes the same instructions in every launch, but for what it repeats while it waits for other
# blocks: at most 1.11 %, and 1.36 % of the lanes that act. Passes for shared memory repeat after conflicts, which depend on when warps meet.
# Cycles, and rates over all of them, follow the time, by 7.99 % at most. Left out here are metrics that depend on what other warps did just
# before, such as stalls, hits and the bytes of device memory: of these, launches lie up to several times apart.
_INSTRUCTIONS_PCT, _PASSES_PCT, _RATES_PCT = 1.4, 4.1, 8.0
_RATES = {
    "cycles", "inst_per_cycle", "issue_active_pct", "fma_pipe_pct", "lsu_pipe_pct", "alu_pipe_pct", "mem_pipes_busy_pct",
}  # fmt: skip
APART_PCT = (
    {DURATION: _LAUNCHES_APART_PCT}
    | dict.fromkeys(
        ("inst_executed", "inst_issued", "lsu_inst_share_pct", "threads_per_inst"), _INSTRUCTIONS_PCT
    )
    | dict.fromkeys(("shared_wavefronts", "shared_load_wavefronts", "shared_store_wavefronts"), _PASSES_PCT)
    | dict.fromkeys(_RATES, _RATES_PCT)
)

# No kernel of these runs is shorter. A shorter one differs by more percent, but hardly by more nanoseconds: ticks of the timer, and the
# time that a launch takes to start.
_SHORTEST_RECORDED_NS = 7_000.0


def is_beyond_launches(before_ns: float, after_ns: float) -> bool:
    """Returns whether the two times differ by more than launches of one kernel did in all that prof recorded."""
    return is_metric_beyond_launches(DURATION, before_ns, after_ns)


def launches_apart_text(shorter_ns: float) -> str:
    """Returns how far apart the times of such launches of one kernel lie at most: 7.1 %, or of short ones a time."""
    if shorter_ns >= _SHORTEST_RECORDED_NS:
        return f"{_LAUNCHES_APART_PCT} %"
    return duration(_LAUNCHES_APART_PCT / 100 * _SHORTEST_RECORDED_NS)


def is_metric_beyond_launches(
    metric: str, before: float, after: float, shortest_ns: float | None = None
) -> bool:
    """Returns whether the two values differ by more than those of launches do; False for a metric of which that is not known.

    Of a rate, it is known if the launches are as long as those recorded: the shortest takes `shortest_ns`.
    """
    if metric not in APART_PCT or (metric in _RATES and (shortest_ns or 0.0) < _SHORTEST_RECORDED_NS):
        return False
    smaller = min(abs(before), abs(after))
    if metric == DURATION:
        smaller = max(smaller, _SHORTEST_RECORDED_NS)
    return abs(after - before) > APART_PCT[metric] / 100 * smaller
