"""Says how far a ladder was climbed in three sentences: which rung came furthest, by which steps, and what to do next."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from shlex import quote

from profiler.analyse.causes.cause import Cause, Headline
from profiler.analyse.causes.headline import name_and_place, next_text
from profiler.analyse.ladder.ladder import RungFinding
from profiler.catalog import DEFAULT_LADDER
from profiler.text import duration

_MOST_STEPS = 3


def furthest_rung(rungs: Sequence[RungFinding]) -> RungFinding | None:
    """Returns the rung that comes furthest: against the reference of the first, or else the fastest.

    All rungs on the way to it have that reference. One that leaves for another precision and comes back climbed elsewhere.
    """
    timed = [rung for rung in rungs if rung.duration_ns]
    climbed = [rung for rung in timed if rung.before is not None]
    if not climbed:
        return None
    first = next((rung for rung in timed if rung.kernel == climbed[0].before), climbed[0])
    alike = [
        rung
        for rung in climbed
        if all((one.reference, one.basis) == (first.reference, first.basis) for one in path_to(rungs, rung))
    ]
    return max(alike or climbed, key=lambda rung: (rung.strongest[0], -(rung.duration_ns or 0.0)))


def headline_of_ladder(
    ladder: str,
    rungs: Sequence[RungFinding],
    furthest: RungFinding,
    causes: Sequence[Cause],
    gpu: str | None = None,
) -> Headline:
    """Returns the headline; `causes` are those of the rung that comes `furthest`, and `gpu` is what `--gpu` has to name."""
    path = path_to(rungs, furthest)
    return Headline(_what(path), _why(path), _next(ladder, gpu, furthest, causes))


def path_to(rungs: Sequence[RungFinding], last: RungFinding) -> list[RungFinding]:
    """Returns the rungs from the first to the last, each followed by the one that was compared with it.

    A ladder that leads in a circle is followed once around.
    """
    others = {rung.kernel: rung for rung in rungs if rung.kernel != last.kernel}
    path = [last]
    while (before := path[0].before) is not None and before in others:
        path.insert(0, others.pop(before))
    return path


def _what(path: Sequence[RungFinding]) -> str:
    first, last = path[0], path[-1]
    took = duration(last.duration_ns or 0.0)
    where = "" if last.basis == "unprofiled" else " under the profiler"
    pct, reference = last.strongest
    reached = f"reaches {pct:.1f} % of {reference}, in {took}" if pct else f"takes {took}"
    if first is last or first.basis != last.basis or not first.duration_ns:
        return f"{_name(last)} {reached}{where}."
    times = first.duration_ns / (last.duration_ns or 1.0)
    return f"{_name(last)} {reached}{where}: {times:.3g}x as fast as {_name(first)}."


def _why(path: Sequence[RungFinding]) -> str:
    """Returns the largest steps of the path and those that cost time, of the steps that keep the reference."""
    steps = [rung for before, rung in pairwise(path) if rung.speedup and rung.reference == before.reference]
    ratios = {rung.kernel: rung.speedup.ratio for rung in steps if rung.speedup}
    better = sorted((one for one in steps if one.verdict == "better"), key=lambda one: -ratios[one.kernel])
    worse = [one for one in steps if one.verdict == "worse"]
    parts = []
    for what, rungs in (
        ("The largest gains on the way", better[:_MOST_STEPS]),
        ("Slower than the rung before", worse),
    ):
        if rungs:
            parts.append(f"{what}: {', '.join(f'{_name(one)} {ratios[one.kernel]:.3g}x' for one in rungs)}.")
    return " ".join(parts)


def _next(ladder: str, gpu: str | None, rung: RungFinding, causes: Sequence[Cause]) -> str:
    which = "" if ladder == DEFAULT_LADDER else f" --ladder {ladder}"
    which += f" --gpu {quote(gpu)}" if gpu else ""
    ask = f"`prof show {rung.kernel}{which}` shows all about it."
    if not causes:
        return ask
    return f"{_name(rung)}, {name_and_place(causes[0])}: {next_text(causes)} {ask}"


def _name(rung: RungFinding) -> str:
    return f"{rung.name} (rung {rung.kernel})"
