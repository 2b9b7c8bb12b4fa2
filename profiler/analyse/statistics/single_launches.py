"""Says whether two times that have no interval lie further apart than launches of one kernel do."""

from __future__ import annotations

# The launches of one kernel, of one shape, in one run of `runs/` lie at most 7.02 % apart (185 kernels, 1,814 launches; the
# largest is layernorm 2 of 24 November, in a single process). Of 19 in 20 kernels they lie at most 1.5 % apart, and two runs of one kernel,
# hours apart, 3 %. `prof query` computes it: max(value) / min(value) of gpu__time_duration.sum by run, kernel and grid.
LAUNCHES_APART_PCT = 7.1

# No kernel of these runs is shorter. A shorter one differs by more percent, but hardly by more nanoseconds: ticks of the timer, and the
# time that a launch takes to start.
_SHORTEST_RECORDED_NS = 7_000.0


def is_beyond_launches(before_ns: float, after_ns: float) -> bool:
    """Returns whether the two times differ by more than launches of one kernel did in all that prof recorded."""
    shorter = max(min(before_ns, after_ns), _SHORTEST_RECORDED_NS)
    return abs(after_ns - before_ns) > LAUNCHES_APART_PCT / 100 * shorter
