"""The contents of a page: its findings, unformatted, in the order in which a person reads them."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from profiler.catalog.metrics import HEADLINE

if TYPE_CHECKING:
    from profiler.analyse.code.machine_code import View
    from profiler.analyse.findings import Comparison, Speedup
    from profiler.analyse.ladder.climb import LadderSheet
    from profiler.analyse.recording.overview import Sheet, TimingSheet
    from profiler.analyse.recording.profile import Profile
    from profiler.present.page.drawing import Picture
    from profiler.store.runs.run import Run

Pictures = Mapping[str, "Future[Picture | None]"]  # still being drawn


@dataclass(frozen=True)
class KernelPart:
    """One kernel of one recording. `anchor` is the part of its address after the `#`.

    A recording of timings alone has no `sheet` and no `profile`; one without execution counts has no `code`.
    A page of very many kernels keeps only the catalogue's metrics in its sheets, and counts the others in
    `metrics_left_out`.
    """

    anchor: str
    name: str
    idea: str
    run: Run
    profile: Profile | None
    sheet: Sheet | None
    timing: TimingSheet | None
    code: View | None
    pictures: Pictures = field(default_factory=dict)
    metrics_left_out: int = 0


@dataclass(frozen=True)
class PairPart:
    """Two compared kernels: the `comparison`, or the reasons why it was `refused`.

    Recordings of timings alone have only a `speedup` and its `warnings`.
    """

    before: KernelPart
    after: KernelPart
    comparison: Comparison | None
    code: View | None
    pictures: Pictures = field(default_factory=dict)
    speedup: Speedup | None = None
    warnings: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()

    @property
    def anchor(self) -> str:
        return f"{self.before.anchor}-{self.after.anchor}"


@dataclass(frozen=True)
class Contents:
    """A whole ladder with its `ladder` sheet, or the recordings that a user named.

    The tables show the `headline` metrics first.
    """

    title: str
    kernels: list[KernelPart]
    pairs: list[PairPart]
    ladder: LadderSheet | None = None
    others: tuple[str, ...] = ()
    headline: tuple[str, ...] = HEADLINE
    pictures: Pictures = field(default_factory=dict)
    roofline_text: Future[str] | None = None
