"""Everything that is found of a ladder, or of recordings that were named, as one page shows it.

`kernels` and `pairs` are found while they are read, so that whoever draws them need not wait for the last.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from profiler.catalog.metrics import HEADLINE

if TYPE_CHECKING:
    from profiler.analyse.causes.cause import Headline
    from profiler.analyse.code.machine_code import CodeView
    from profiler.analyse.findings import ComparisonFinding
    from profiler.analyse.ladder.climb import LadderSheet
    from profiler.analyse.ladder.roofline import Roofline
    from profiler.analyse.recording.overview import SheetFinding, TimingSheet
    from profiler.analyse.recording.profile import Profile
    from profiler.analyse.recording.source_lines import SourceLines
    from profiler.store.runs.run import Run


@dataclass(frozen=True)
class KernelFindings:
    """One kernel of one recording; `anchor` is how pairs refer to it.

    Of timings alone there is no `sheet` and no `profile`; without execution counts, no `code`. Of very many
    kernels the sheets hold the catalogue's metrics, and count the others as `metrics_left_out`.
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


@dataclass(frozen=True)
class PairFindings:
    """Two kernels, by their anchors, against each other: the `comparison`, or why there is none.

    Of timings alone there is only a `headline`, with its `warnings`.
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
        """The sentences that the pair opens with; None where it could not be compared."""
        return self.comparison.headline if self.comparison else self.headline


@dataclass(frozen=True)
class PageFindings:
    """A whole ladder with its sheet and roofline, or whatever recordings were named. `headline` metrics come first.

    `unrelated` are neighbouring recordings, by their titles, that have no kernel in common.
    """

    title: str
    kernels: Iterable[KernelFindings]
    pairs: Iterable[PairFindings]
    ladder: LadderSheet | None = None
    roofline: Roofline | None = None
    others: tuple[str, ...] = ()
    headline: tuple[str, ...] = HEADLINE
    unrelated: tuple[tuple[str, str], ...] = ()
