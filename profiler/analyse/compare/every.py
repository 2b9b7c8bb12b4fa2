"""Sums up the comparisons of all kernels that two recordings share: where the time went, and which to ask about."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from profiler.analyse.causes.cause import Headline
from profiler.analyse.findings import SCHEMA_VERSION, SETTLED, ComparedKernel, ComparisonFinding, Comparisons
from profiler.analyse.recording.kernel_names import base_name
from profiler.catalog.metrics import DURATION
from profiler.text import duration, relative


def sum_up(comparisons: Sequence[ComparisonFinding]) -> Comparisons:
    """Returns the comparisons with an index of their kernels, the largest change of time first, and a headline."""
    index = sorted(_index(comparisons), key=lambda one: -abs(one.after_ns - one.before_ns))
    place = {one.kernel: number for number, one in enumerate(index)}
    return Comparisons(
        headline=_headline(index, comparisons) if index else None,
        index=index,
        schema_version=SCHEMA_VERSION,
        comparisons=sorted(comparisons, key=lambda one: place.get(one.after.kernel_name, len(place))),
    )


def _index(comparisons: Sequence[ComparisonFinding]) -> Iterator[ComparedKernel]:
    """Yields the kernels whose duration was recorded on both sides."""
    for one in comparisons:
        for delta in one.metrics:
            if delta.name == DURATION and delta.before > 0:
                yield ComparedKernel(
                    kernel=one.after.kernel_name,
                    before_ns=delta.before * one.before.launches,
                    after_ns=delta.after * one.after.launches,
                    change_pct=100 * delta.delta / delta.before,
                    ci_pct=(100 * delta.ci[0] / delta.before, 100 * delta.ci[1] / delta.before)
                    if delta.ci
                    else None,
                    verdict=delta.verdict,
                )


def _headline(index: Sequence[ComparedKernel], comparisons: Sequence[ComparisonFinding]) -> Headline:
    before, after = (
        sum(times_ns) for times_ns in zip(*((one.before_ns, one.after_ns) for one in index), strict=True)
    )
    what = (
        f"The {len(index)} kernels that both have take {duration(before)} before and {duration(after)} after, "
        f"{relative(before, after)}."
    )
    changed = [one for one in index if one.verdict not in SETTLED]
    unclear = [one for one in index if one.verdict == "unclear"]
    if not changed and not unclear:
        return Headline(what, "No kernel changed beyond the noise of its launches.", "")
    top = (changed or unclear)[0].kernel
    first = next(one for one in comparisons if one.after.kernel_name == top)
    sides = " ".join(side.report or side.run_id or side.label for side in (first.before, first.after))
    ask = f"`prof compare {sides} -k {base_name(top)}` shows all about it."
    if not changed:
        why = f"The launches do not decide which changed: {len(unclear)} are unclear, and {base_name(top)} may have changed most."
        return Headline(what, why, f"Record more launches of each kernel. {ask}")
    said = first.headline
    why = f"{base_name(top)} changed most: {said.what} {said.why}" if said else ""
    return Headline(what, why.rstrip(), ask)
