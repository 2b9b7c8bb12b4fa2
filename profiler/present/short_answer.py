"""The answer alone, as `--brief` gives it to programs: a finding in; its sentences, its figure and its doubts out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated, Any

from msgspec import Struct

from profiler.analyse.causes.cause import Headline
from profiler.analyse.check import CheckFinding, Outcome
from profiler.analyse.findings import SCHEMA_VERSION, ComparisonFinding, Comparisons, LeftOut, Speedup
from profiler.analyse.importance import Importance
from profiler.analyse.recording.overview import SheetFinding, Sheets


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


def shorten_to_answer(finding: Any) -> ShortAnswer | None:
    """Returns the answer of a finding; None if it opens with none, as a list does."""
    if not hasattr(finding, "headline"):
        return None
    return ShortAnswer(
        finding.headline,
        _cautions(finding),
        SCHEMA_VERSION,
        finding.speedup if isinstance(finding, ComparisonFinding) else None,
        finding.outcome if isinstance(finding, CheckFinding) else None,
    )


def _cautions(finding: Any) -> list[str]:
    if isinstance(finding, ComparisonFinding):
        return [*finding.comparable.cautions, *_not_recorded(finding.causes_unseen)]
    if isinstance(finding, Comparisons):
        return _shared(one.comparable.cautions for one in finding.comparisons)
    if isinstance(finding, Sheets):
        return _shared(map(_of_sheet, finding.kernels))
    if isinstance(finding, CheckFinding):
        return list(dict.fromkeys(text for pair in finding.pairs for text in pair.cautions))
    return list(getattr(finding, "cautions", ()))


def _of_sheet(sheet: SheetFinding) -> list[str]:
    return [*sheet.cautions, *_not_recorded(sheet.causes_unseen)]


def _not_recorded(unseen: Sequence[str]) -> list[str]:
    return [f"not recorded: {'; '.join(unseen)}"] if unseen else []


def _shared(cautions: Iterable[Sequence[str]]) -> list[str]:
    """Returns the cautions that hold for every kernel."""
    first, *others = [list(one) for one in cautions] or [[]]
    return [text for text in first if all(text in other for other in others)]
