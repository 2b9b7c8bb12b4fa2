"""Everything that is found of a ladder, or of recordings that were named, as one page shows it.

`kernels` and `pairs` are found while they are read, so that drawing may begin before the last is found.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from profiler.analyse.causes.cause import Headline
from profiler.analyse.compare.speedup_sentence import ratio_sentence
from profiler.analyse.findings import Basis, Speedup
from profiler.catalog.metrics import DURATION, HEADLINE
from profiler.text import report_name

if TYPE_CHECKING:
    from profiler.analyse.code.machine_code import CodeView
    from profiler.analyse.findings import ComparisonFinding
    from profiler.analyse.ladder.climb import LadderSheet
    from profiler.analyse.ladder.roofline import Roofline
    from profiler.analyse.recording.overview import SheetFinding, TimingSheet
    from profiler.analyse.recording.profile import Profile
    from profiler.analyse.recording.source_lines import SourceLines
    from profiler.errors import ReportError
    from profiler.store.runs.run import Run


@dataclass(frozen=True)
class KernelFindings:
    """One kernel of one recording; `anchor` is how pairs refer to it. `called` is its name where there is little room.

    Timings alone have no `sheet` and no `profile`; without execution counts, there is no `code`. If there are
    very many kernels, the sheets hold the catalogue's metrics, and count the others as `metrics_left_out`.
    """

    anchor: str
    name: str
    idea: str
    run: Run
    profile: Profile | None
    sheet: SheetFinding | None
    timing: TimingSheet | None
    code: CodeView | None
    lines: SourceLines | None
    metrics_left_out: int
    called: str = ""


@dataclass(frozen=True)
class PairFindings:
    """Two kernels, by their anchors, against each other: the `comparison`, or why there is none.

    Timings alone have only a `headline`, with its `warnings`.
    """

    before: str
    after: str
    comparison: ComparisonFinding | None = None
    code: CodeView | None = None
    headline: Headline | None = None
    warnings: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()

    @property
    def answer(self) -> Headline | None:
        """Returns the sentences that the pair opens with; None where it could not be compared."""
        return self.comparison.headline if self.comparison else self.headline


@dataclass(frozen=True)
class PageFindings:
    """A whole ladder with its sheet and roofline, or whatever recordings were named. `headline` metrics come first.

    `unrelated` are neighbouring recordings, by their titles, that have no kernel in common. `left_out` are the
    reports that cannot be read, by their paths, with their errors.
    """

    title: str
    kernels: Iterable[KernelFindings]
    pairs: Iterable[PairFindings]
    ladder: LadderSheet | None = None
    roofline: Roofline | None = None
    others: tuple[str, ...] = ()
    headline: tuple[str, ...] = HEADLINE
    unrelated: tuple[tuple[str, str], ...] = ()
    left_out: Mapping[str, ReportError] = field(default_factory=dict)


def headline_of_steps(kernels: Sequence[KernelFindings], pairs: Sequence[PairFindings]) -> Headline:
    """Returns how much faster the last of several recordings is than the first of those that were compared one after the other.

    Of several such rows, the longest counts; of equally long ones, the one that began slowest.
    """
    found = {one.anchor: one for one in kernels}
    rows: dict[str, list[PairFindings]] = {}  # by where each has come to
    for pair in pairs:
        if pair.comparison is not None and pair.comparison.speedup is not None:
            rows[pair.after] = [*rows.pop(pair.before, []), pair]
    if not rows:
        return Headline("No two of these recordings are compared.", "", "")
    row = max(rows.values(), key=lambda one: (len(one), _time_ns(found[one[0].before], "profiled") or 0.0))
    if len(row) == 1 and row[0].answer:
        return row[0].answer
    speedups = [pair.comparison.speedup for pair in row if pair.comparison and pair.comparison.speedup]
    basis: Basis = "unprofiled" if all(one.basis == "unprofiled" for one in speedups) else "profiled"
    first, last = found[row[0].before], found[row[-1].after]
    times = _time_ns(first, basis), _time_ns(last, basis)
    if times[0] is None or times[1] is None:
        return row[-1].answer or Headline("", "", "")
    whole = Speedup(math.prod(one.ratio for one in speedups), None, basis)
    what = ratio_sentence(_names(first, last), (times[0], times[1]), whole, of_launches=False)
    step, _ = max(zip(row, speedups, strict=True), key=lambda one: abs(math.log(one[1].ratio)))
    said, latest = step.answer, row[-1].answer
    why = f"The largest of {len(row)} steps: {said.what} {said.why}" if said else ""
    return Headline(what, why, latest.next, note=latest.note) if latest else Headline(what, why, "")


def _names(first: KernelFindings, last: KernelFindings) -> tuple[str, str]:
    """Returns what to call both: a kernel that both recordings have also by its recording."""
    if first.name != last.name:
        return first.name, last.name
    return f"{first.name} in {report_name(first.run.label)}", f"{last.name} in {report_name(last.run.label)}"


def _time_ns(found: KernelFindings, basis: Basis) -> float | None:
    if basis == "unprofiled" and found.timing is not None:
        return found.timing.timing.typical_ns
    metrics = found.sheet.metrics if found.sheet else []
    return next((one.mean for one in metrics if one.name == DURATION), None)
