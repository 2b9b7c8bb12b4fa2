"""Says in a sentence which of two sides is faster, by how much and how surely."""

from __future__ import annotations

from profiler.analyse.findings import Basis, Speedup
from profiler.analyse.recording.kernel_names import BY_ORDER, names_of_sides
from profiler.analyse.statistics.single_launches import is_beyond_launches, launches_apart_text
from profiler.catalog.metrics import SMALLEST_RELATIVE_EFFECT
from profiler.text import duration, number, report_name, spread

_WHICH = "Which of"
_TOO_FEW = ", which are too few to decide it."
_NO_INTERVAL = ". A single launch gives no interval"
# Nobody takes a time that is twice as long for noise, so it is not said to be none.
_PLAINLY = 2.0
_WHERE: dict[Basis, str] = {"unprofiled": "without", "profiled": "under"}
_APART = ". Single launches of one kernel differ by up to {}"


def ratio_sentence(
    labels: tuple[str, str],
    times_ns: tuple[float, float],
    speedup: Speedup,
    *,
    of_launches: bool = True,
    measured_alike: bool = True,
) -> str:
    """Returns which side is faster and how surely, with both times and what measured them.

    Of two recordings of one name, the second is compared with what it was before. A speedup `of_launches` that has no interval is of too
    few launches: it is compared with how launches of one kernel differ. A speedup of several steps never has one. How launches differ was
    seen within runs, so sides that were not `measured_alike`, on one GPU at clocks set alike, are not compared with that.
    """
    one, other = names_of_sides(labels)
    same, undecided = f"{one} and {other} take the same time", f"{_WHICH} {one} and {other} is faster"
    if (one, other) == BY_ORDER:
        one, other = "before", report_name(labels[1])
        same, undecided = f"{other} takes the same time as before", f"Whether {other} is faster than before"
    times = f"{' -> '.join(map(duration, times_ns))} {_WHERE[speedup.basis]} the profiler"
    lowest, highest = 1 - SMALLEST_RELATIVE_EFFECT, 1 + SMALLEST_RELATIVE_EFFECT
    if speedup.ci and speedup.ci[0] <= 1 <= speedup.ci[1]:
        if speedup.ci[0] < lowest or speedup.ci[1] > highest:
            return f"{undecided} is not certain ({times})."
        apart_pct = 100 * max(1 - speedup.ci[0], speedup.ci[1] - 1)
        within = f", within {_half_width(max(apart_pct, 0.01))}" if apart_pct else ""
        return f"{same}{within} ({times})."
    interval = ""
    if speedup.ci and speedup.ci[0] < speedup.ci[1]:
        half_pct = 50 * (speedup.ci[1] - speedup.ci[0]) / speedup.ratio
        interval = f", ± {_half_width(half_pct)}"
    here, end = "", "."
    if of_launches and not speedup.ci:
        here, end = _without_interval(times_ns, speedup, measured_alike)
    if speedup.ratio >= 1:
        return f"{other} is {_ratio(speedup.ratio)} as fast as {one}{here} ({times}{interval}){end}"
    as_fast = f"{_ratio(speedup.ratio)} as fast"  # the figure that tables of factors and of steps hold
    return f"{other} takes {_ratio(1 / speedup.ratio)} as long as {one}{here} ({as_fast}; {times}{interval}){end}"


def on_condition(condition: str, sentence: str) -> str:
    """Returns a ratio_sentence() that holds on a condition, with which it begins; without one, the sentence as it is."""
    return condition + sentence.replace(_WHICH, _WHICH.lower(), 1) if condition else sentence


def two_kernels_sentence(names: tuple[str, str], times_ns: tuple[float, float], basis: Basis) -> str:
    """Returns the times of two different kernels, whose ratio says nothing."""
    one, other = names
    first, second = map(duration, times_ns)
    where = _WHERE[basis]
    return (
        f"{one} and {other} are two different kernels, which take {first} and {second} {where} the profiler."
    )


def _without_interval(
    times_ns: tuple[float, float], speedup: Speedup, measured_alike: bool
) -> tuple[str, str]:
    """Returns the words for what the ratio is of, and the end of the sentence, which says how far to believe it."""
    # How far times without the profiler lie apart depends on who timed them.
    if speedup.basis == "unprofiled":
        return " in these launches", _TOO_FEW
    if not measured_alike:
        return " in these launches", f"{_NO_INTERVAL}."
    if max(times_ns) >= _PLAINLY * min(times_ns) and is_beyond_launches(*times_ns):
        return "", "."
    apart = _APART.format(launches_apart_text(min(times_ns)))
    if is_beyond_launches(*times_ns):
        return "", f"{apart}, so this is hardly noise."
    return " in these launches", f"{apart}: this may be noise."


def _half_width(pct: float) -> str:
    """Returns half the width of an interval; above 0.1 %, one decimal is enough in a sentence."""
    return f"{pct:.1f} %" if pct >= 0.1 else f"{spread(pct)} %"


def _ratio(ratio: float) -> str:
    """Returns a ratio with four digits, zeros among them: 2.000x."""
    return f"{ratio:.3f}x" if 1 <= ratio < 10 else f"{number(ratio)}x"
