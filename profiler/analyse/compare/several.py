"""Sums up the comparisons of several kernels: an index, the largest change of time first, and one headline."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

from profiler.analyse import findings
from profiler.analyse.causes.cause import Headline
from profiler.analyse.findings import SCHEMA_VERSION, SETTLED, ComparedKernel, ComparisonFinding, Comparisons
from profiler.analyse.recording.kernel_names import base_name, called_name, choice_of
from profiler.catalog.metrics import DURATION
from profiler.catalog.presets import more_launches
from profiler.text import counted, duration, relative


def sum_up(comparisons: Sequence[ComparisonFinding]) -> Comparisons:
    """Returns the comparisons with an index of their kernels, the largest change of time first, and a headline."""
    comparisons = sorted(comparisons, key=lambda one: -findings.time_changed_ns(one))
    index = list(_index(comparisons))
    return Comparisons(
        headline=_headline(index, comparisons) if index else None,
        index=index,
        schema_version=SCHEMA_VERSION,
        comparisons=comparisons,
    )


def _index(comparisons: Sequence[ComparisonFinding]) -> Iterator[ComparedKernel]:
    """Yields the kernels whose duration was recorded on both sides."""
    for one in comparisons:
        for delta in one.metrics:
            if delta.name == DURATION and delta.before > 0:
                yield ComparedKernel(
                    kernel=one.after.kernel_name,
                    before_launches=one.before.launches,
                    after_launches=one.after.launches,
                    before_ns=delta.before * one.before.launches,
                    after_ns=delta.after * one.after.launches,
                    change_pct=100 * delta.delta / delta.before,
                    ci_pct=(100 * delta.ci[0] / delta.before, 100 * delta.ci[1] / delta.before)
                    if delta.ci
                    else None,
                    verdict=delta.verdict,
                    reason=delta.reason,
                )


def _headline(index: Sequence[ComparedKernel], comparisons: Sequence[ComparisonFinding]) -> Headline:
    what = _what(index)
    changed = [one for one in index if one.verdict not in SETTLED or one.reason == "beyond_launches"]
    unclear = [one for one in index if one.verdict == "unclear"]
    if not changed and not unclear:
        return Headline(what, "No kernel changed beyond the noise of its launches.", "")
    top = (changed or unclear)[0].kernel
    first = next(one for one in comparisons if one.after.kernel_name == top)
    sides = shlex.join(side.report or side.run_id or side.label for side in (first.before, first.after))
    names = [side.kernel_name for one in comparisons for side in (one.before, one.after)]
    is_in_both = first.before.kernel_name == top
    choice = choice_of(top, names) if is_in_both else f"-k {shlex.quote(base_name(top))}"
    ask = f"`prof compare {sides} {choice}` shows all about it."
    if not changed:
        why = f"Which of them changed is not certain; {called_name(top)} may have changed most."
        return Headline(what, why, f"Record more launches of each kernel: {more_launches()}. {ask}")
    said = first.headline
    why = f"The largest change: {said.what} {said.why}" if said else ""
    return Headline(what, why.rstrip(), ask)


def _what(index: Sequence[ComparedKernel]) -> str:
    """Returns how long all kernels take on each side, and the change where each was launched as often on both."""
    before, after = sum(one.before_ns for one in index), sum(one.after_ns for one in index)
    took = f"The {len(index)} kernels that both have take {duration(before)}"
    launches = [(one.before_launches, one.after_launches) for one in index]
    if all(here == there for here, there in launches):
        return f"{took} before and {duration(after)} after, {relative(before, after)}."
    # How often a kernel was recorded says nothing about how long it takes.
    here, there = (counted(sum(side), "launch", "launches") for side in zip(*launches, strict=True))
    return f"{took} in {here} before, and {duration(after)} in {there} after."
