"""The answer alone, as `--brief` gives it to programs: a finding in; its sentences, its figure and its doubts out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import singledispatch
from typing import Annotated

from msgspec import Struct

from profiler.analyse.causes.cause import Headline
from profiler.analyse.check import CheckFinding, Outcome
from profiler.analyse.findings import SCHEMA_VERSION, ComparisonFinding, Comparisons, LeftOut, Speedup
from profiler.analyse.importance import Importance
from profiler.analyse.ladder.ladder import LadderFinding
from profiler.analyse.recording.overview import SheetFinding, Sheets, TimingSheet
from profiler.analyse.recording.triage import Triage


class ShortAnswer(Struct, frozen=True, omit_defaults=True):
    """The first sentences of an answer, with what to doubt in it (`--brief`).

    Only a comparison of two kernels has a `speedup`, and only a check an `outcome`.
    """

    headline: Headline | None
    cautions: Annotated[list[str], Importance(99, each=1)]
    schema_version: int
    speedup: Speedup | None = None
    outcome: Outcome | None = None
    left_out: LeftOut = {}


@singledispatch
def shorten_to_answer(finding: object) -> ShortAnswer | None:
    """Returns the answer of a finding; None if it opens with none, as a list does."""
    if hasattr(finding, "headline"):
        raise TypeError(f"no function here says what to doubt in a {type(finding).__name__}")
    return None


@shorten_to_answer.register
def _(finding: LadderFinding | TimingSheet | Triage) -> ShortAnswer:
    return ShortAnswer(finding.headline, finding.cautions, SCHEMA_VERSION)


@shorten_to_answer.register
def _(finding: ComparisonFinding) -> ShortAnswer:
    cautions = [*finding.comparable.cautions, *_not_recorded(finding.causes_unseen)]
    return ShortAnswer(finding.headline, cautions, SCHEMA_VERSION, speedup=finding.speedup)


@shorten_to_answer.register
def _(finding: Comparisons) -> ShortAnswer:
    cautions = _shared(one.comparable.cautions for one in finding.comparisons)
    return ShortAnswer(finding.headline, cautions, SCHEMA_VERSION)


@shorten_to_answer.register
def _(finding: Sheets) -> ShortAnswer:
    return ShortAnswer(finding.headline, _shared(map(_of_sheet, finding.kernels)), SCHEMA_VERSION)


@shorten_to_answer.register
def _(finding: CheckFinding) -> ShortAnswer:
    cautions = list(dict.fromkeys(text for pair in finding.pairs for text in pair.cautions))
    return ShortAnswer(finding.headline, cautions, SCHEMA_VERSION, outcome=finding.outcome)


def _of_sheet(sheet: SheetFinding) -> list[str]:
    return [*sheet.cautions, *_not_recorded(sheet.causes_unseen)]


def _not_recorded(unseen: Sequence[str]) -> list[str]:
    return [f"not recorded: {'; '.join(unseen)}"] if unseen else []


def _shared(cautions: Iterable[Sequence[str]]) -> list[str]:
    """Returns the cautions that hold for every kernel."""
    first, *others = [list(one) for one in cautions] or [[]]
    return [text for text in first if all(text in other for other in others)]
