"""Declares the answers that the Python interface returns: findings that show themselves in an interpreter and in a notebook.

An answer about one kernel and one about several have the same ways in: `.sheets` or `.comparisons`, and `.to_pandas()`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, NoReturn, Self, get_args, get_origin

from msgspec import Struct
from msgspec.structs import asdict, fields, force_setattr, replace

from profiler.analyse.causes.cause import Cause, Headline
from profiler.analyse.check import CheckFinding
from profiler.analyse.code.hot_loop import LoopSheet
from profiler.analyse.code.machine_code import CodeView
from profiler.analyse.findings import (
    ComparedKernel,
    ComparisonFinding,
    Comparisons,
    LoadChange,
    MetricDelta,
    Speedup,
)
from profiler.analyse.flat_rows import flat_columns
from profiler.analyse.ladder.climb import LadderSheet
from profiler.analyse.recording.hot_lines import HotLine
from profiler.analyse.recording.index import IndexEntry, index_of
from profiler.analyse.recording.overview import RecordingOverview, SheetFinding, SheetMetric
from profiler.analyse.recording.rules import SheetRule
from profiler.analyse.recording.triage import Triage, TriagedKernel
from profiler.errors import ReportError
from profiler.present.document import Document
from profiler.python.choosing import Alone, Several
from profiler.python.entries import Entries, index_frame
from profiler.python.shows_itself import ShowsItself
from profiler.python.words import in_python
from profiler.text import counted, report_name

if TYPE_CHECKING:
    import pandas as pd

    from profiler.ask.show import ShownTogether

_MOST_CHECKED = 12  # kernels of which a log gets every figure
_SENTENCES = ("headline", "cautions", "pairs")  # fields that people print
_LISTS = ("metrics", "causes", "hot_lines", "rules", "index")  # fields that show themselves


@cache
def _kinds_of_lists(answer: type[Struct]) -> dict[str, type[Struct]]:
    """Returns of what the lists of an answer are that show themselves."""
    types = {one.name: one.type for one in fields(answer) if one.name in _LISTS}
    lists = {name: one.__origin__ if get_origin(one) is Annotated else one for name, one in types.items()}
    return {name: get_args(one)[0] for name, one in lists.items()}


class _Shown(ShowsItself, Struct, frozen=True):
    @classmethod
    def of(cls, finding: Struct) -> Self:
        values = {name: getattr(finding, name) for name in finding.__struct_fields__}
        values |= {name: Entries(values[name], kind) for name, kind in _kinds_of_lists(cls).items()}
        return cls(**{name: in_python(one) if name in _SENTENCES else one for name, one in values.items()})


class _NoTruth:
    """An answer that compares is no yes and no no."""

    def __bool__(self) -> NoReturn:
        raise TypeError(
            "a comparison is neither true nor false: `.speedup.ratio` of a kernel says how many times as fast it is, and "
            "`prof.check(after, baseline=before)` is true if nothing got slower"
        )


class Comparison(_NoTruth, Alone, _Shown, ComparisonFinding, frozen=True):
    """This answer compares two kernels: it says what changed from the side before to the side after.

    headline      the answer: `.what` was measured, `.why` it is so, and what to change `.next`
    speedup       `.ratio`, how many times as fast the second side is, its interval `.ci`, and `.basis`
    causes        what costs the second side time: `.causes["barriers"].saves_pct`, `.where`, `.sentence`, `.try_`
    causes_gone   the names of the causes that the first side alone has
    causes_new    the names of those that the second side alone has; of two `different_kernels`, the first has `causes_before`
    causes_less   those that shrank, `.before_pct` and `.after_pct` of the time; `causes_more` are those that grew
    metrics       the change of each metric: `.metrics["duration_ns"].delta`, `.ci`, `.verdict`
    attribution   the speedup as a product of `.factors`, such as fewer instructions
    instructions  the executed instructions in `.opcodes`, and the loads of the hot loop
    comparable    `.cautions`: what to doubt
    before        the recording of the first side; `after` is that of the second
    text()        everything that the command prints with --full
    to_pandas()   one row for each metric
    """

    # None only where neither recording has a duration, which no script should have to ask for.
    if TYPE_CHECKING:
        speedup: Speedup | Any
        headline: Headline | Any
        metrics: Entries[MetricDelta]
        causes: Entries[Cause] = Entries()

    @property
    def comparisons(self) -> list[Comparison]:
        """Returns this one alone. A comparison of several kernels has one for each."""
        return [self]

    def _kernel(self) -> str:
        return self.after.kernel_name

    def _document(self, *, full: bool = False) -> Document:
        from profiler.present.documents.comparison import comparison_document

        return comparison_document(self, full=full)


class Origin(NamedTuple):
    """The recording that a sheet is about, in a form that `prof.show` takes, and the launches that were chosen of it."""

    recording: str
    nvtx: str | None = None
    launch: int | str | None = None


class Sheet(Alone, _Shown, SheetFinding, frozen=True, dict=True):
    """This answer says what takes the time of one kernel, and what to change.

    Functions take it as a recording of this kernel alone: `prof.sass(sheet)`, `prof.compare(sheet, other)`.

    headline       the answer: `.what` was measured, `.why` it is so, and what to change `.next`
    causes         what costs time, best first: `.causes["barriers"].saves_pct`, `.where`, `.sentence`, `.try_`
    causes_unseen  what the recording lacks for a fuller diagnosis
    hot_lines      the lines where warps wait most: `.file`, `.line`, `.share_pct` of the samples, `.text`
    metrics        the metrics by their names: `.metrics["duration_ns"].mean`
    rules          what the rules of Nsight Compute say
    cautions       what to doubt
    kernel         its name; `launches` of it take `total_ns`, and have these `shapes`
    text()         everything that the command prints with --full
    to_pandas()    one row for each metric
    """

    if TYPE_CHECKING:
        headline: Headline | Any = None  # None only where no duration was recorded
        metrics: Entries[SheetMetric]
        causes: Entries[Cause] = Entries()
        hot_lines: Entries[HotLine] = Entries()
        rules: Entries[SheetRule]

    @classmethod
    def of_origin(cls, finding: SheetFinding, origin: Origin) -> Sheet:
        sheet = cls.of(finding)
        force_setattr(sheet, "_origin", origin)  # it is no part of what the sheet says
        return sheet

    def __reduce__(self) -> tuple[Any, ...]:
        """Lets a copy, or what another process gets, keep the recording that the sheet is of."""
        return (*super().__reduce__(), self.__dict__)

    def __copy__(self) -> Sheet:
        copied: Sheet = super().__copy__()  # type: ignore[misc]  # unknown to its stubs
        copied.__dict__.update(self.__dict__)
        return copied

    @property
    def sheets(self) -> list[Sheet]:
        """Returns this one alone. A recording of several kernels has one for each."""
        return [self]

    def to_pandas(self) -> pd.DataFrame:
        """Returns one row for each metric, indexed by its name."""
        import pandas as pd

        columns = flat_columns(SheetMetric)
        return pd.DataFrame(map(asdict, self.metrics), columns=columns).set_index("name")

    def _kernel(self) -> str:
        return self.kernel

    def _document(self, *, full: bool = False) -> Document:  # noqa: ARG002
        from profiler.present.documents.recording import sheet_document

        return sheet_document(self)


class ShownComparisons(_NoTruth, Several[Comparison], _Shown, Comparisons, frozen=True):
    """This answer compares every kernel that two recordings have; `[0]` or `["name"]` is the comparison of one.

    headline     the time of all before and after, and the largest change
    index        one entry for each kernel: `.before_ns`, `.after_ns`, `.change_pct`, `.verdict`
    comparisons  the comparison of each kernel, the largest change of time first
    text()       everything that the command prints with --full
    to_pandas()  one row for each kernel
    """

    if TYPE_CHECKING:
        headline: Headline | Any
        comparisons: list[Comparison]  # type: ignore[assignment]

    @classmethod
    def of(cls, finding: Struct) -> Self:
        found = super().of(finding)
        return replace(found, comparisons=[Comparison.of(one) for one in found.comparisons])

    def _answers(self) -> tuple[str, list[Comparison]]:
        return "the comparison", self.comparisons

    def _kernels(self) -> list[str]:
        return [one.after.kernel_name for one in self.comparisons]

    def to_pandas(self) -> pd.DataFrame:
        """Returns one row for each kernel, the largest change of time first."""
        return index_frame(self.index, ComparedKernel)

    def _document(self, *, full: bool = False) -> Document:
        from profiler.present.documents.comparisons import comparisons_document

        return comparisons_document(self, full=full)


@dataclass(frozen=True, repr=False)
class Overview(Several[Sheet], ShowsItself, RecordingOverview):
    """This answer is about several kernels of a recording, or its times alone; `[0]` or `["name"]` is the sheet of one kernel.

    headline     where the time goes, and where to begin
    index        one entry for each kernel, by its share of the time: `.total_ns`, `.share_pct`, `.top_cause`
    sheets       the answer about each kernel, in the order of the index
    timing       the times without the profiler, if they were measured
    text()       everything that the command prints with --full
    to_pandas()  one row for each kernel
    """

    if TYPE_CHECKING:
        sheets: list[Sheet]  # type: ignore[assignment]

    @classmethod
    def of(
        cls, recording: RecordingOverview, nvtx: str | None = None, launch: int | str | None = None
    ) -> Self:
        origin = Origin(str(recording.run.path), nvtx, launch)
        sheets = [Sheet.of_origin(one, origin) for one in recording.sheets]
        return cls(recording.run, sheets, recording.timing)

    @cached_property
    def index(self) -> Entries[IndexEntry]:
        """Returns an entry for each kernel, by its share of the time."""
        return Entries(index_of(self.sheets), IndexEntry)

    @property
    def headline(self) -> Headline | Any:
        """Returns the answer about where the time of several kernels goes, or about the times."""
        timed = None if self.sheets or self.timing is None else self.timing.headline
        return in_python(timed or super().headline)

    def _answers(self) -> tuple[str, list[Sheet]]:
        return self.run.label, self.sheets

    def _kernels(self) -> list[str]:
        return [one.kernel for one in self.sheets]

    def to_pandas(self) -> pd.DataFrame:
        """Returns one row for each kernel, by its share of the time."""
        return index_frame(self.index, IndexEntry)

    def _document(self, *, full: bool = False) -> Document:
        from profiler.present.documents.recording import recording_document

        return recording_document(self, full=full)


class ShownTriage(Several[Sheet], _Shown, Triage, frozen=True):
    """This answer is about the kernels of several recordings; `[0]`, `["kernel"]` or `["recording"]` is the sheet of one.

    headline     where to begin
    index        one entry for each kernel, by what a change is likely to save: `.source`, `.total_ns`, `.top_cause`, `.likely_saves_ns`
    sheets       the answer about each kernel, in the order of the index
    errors       the reports that cannot be read, and why
    cautions     what to doubt
    text()       everything that the command prints with --full
    to_pandas()  one row for each kernel of each recording
    """

    sheets: list[Sheet] = []
    errors: list[ReportError] = []

    if TYPE_CHECKING:
        headline: Headline | Any

    @classmethod
    def of_several(
        cls, shown: ShownTogether, nvtx: str | None = None, launch: int | str | None = None
    ) -> Self:
        origins = (Origin(one.source, nvtx, launch) for one in shown.finding.index)
        sheets = list(map(Sheet.of_origin, shown.sheets, origins))
        return replace(cls.of(shown.finding), sheets=sheets, errors=shown.errors)

    def _answers(self) -> tuple[str, list[Sheet]]:
        return counted(self.recordings, "recording"), self.sheets

    def _kernels(self) -> list[str]:
        return [one.kernel for one in self.sheets]

    def _sources(self) -> list[str]:
        return [report_name(one.source) for one in self.index]

    def to_pandas(self) -> pd.DataFrame:
        """Returns one row for each kernel of each recording, by what a change is likely to save."""
        return index_frame(self.index, TriagedKernel)

    def _document(self, *, full: bool = False) -> Document:
        from profiler.present.documents.triage import triage_document

        return triage_document(self, full=full)


class Check(_Shown, CheckFinding, frozen=True):
    """This answer says whether kernels got slower than their baseline: it is true if `.passed`, so that `assert` takes it.

    passed    the answer; what is unclear has not passed
    outcome   passed, regression, unclear or not_comparable: the worst of all
    headline  the outcome in words: `.what` failed, `.why`, and what to change `.next`
    pairs     one entry for each kernel: `.outcome`, `.checks` of its limits, `.cause`
    missing   the recordings that the baseline alone has; `gone` are such kernels, and `new` what the candidate alone has
    text()    everything, with a row for each limit
    """

    @property
    def passed(self) -> bool:
        """Returns whether every kernel is certainly within its limits: an unclear result has not passed."""
        return self.outcome == "passed"

    def __bool__(self) -> bool:
        return self.passed

    def _document(self, *, full: bool = False) -> Document:  # noqa: ARG002
        from profiler.present.documents.check import check_document
        from profiler.present.documents.parts.causes import why_and_next

        found = check_document(self)
        if self.outcome in ("unclear", "not_comparable"):  # what to do, which the command's error says
            first, *others = found.sections
            found = replace(found, sections=[[*first, *why_and_next(self.headline)], *others])
        return found if len(self.pairs) > _MOST_CHECKED else _all_answer(found)


@dataclass(frozen=True, repr=False)
class ShownCode(ShowsItself):
    """This answer shows the machine code of one hot loop, or of two side by side.

    kernels  the loop of each side: `.place`, `.iterations`, `.loads`
    changes  the loads that changed, in a `.sentence` each
    text()   the code
    """

    view: CodeView

    @property
    def kernels(self) -> list[LoopSheet]:
        return self.view.finding.kernels

    @property
    def changes(self) -> list[LoadChange]:
        return self.view.finding.changes

    def _document(self, *, full: bool = False) -> Document:  # noqa: ARG002
        from profiler.present.documents.code import code_document

        return _all_answer(code_document(self.view))


class ShownLadder(_Shown, LadderSheet, frozen=True):
    """This answer has the rungs of a ladder, and the steps between them.

    ladder              all rungs: `.ladder.kernels[0].duration_ns`, `.speedup`, `.reference_pct`; `.ladder.headline`
    steps               the change of every metric in each step
    rungs               what the warps of each rung wait for, in cycles per instruction: `.stalls`
    reference           the number of the rung that is the reference itself
    text()              the table
    to_pandas()         one row for each rung
    steps_to_pandas()   one row for each step and metric
    stalls_to_pandas()  one row for each rung, with a column for each reason to wait
    """

    def _document(self, *, full: bool = False) -> Document:  # noqa: ARG002
        from profiler.present.documents.ladder import ladder_document

        return _all_answer(ladder_document(self.ladder, (), reference=self.reference))


def _all_answer(document: Document) -> Document:
    """Returns a document of which nothing is mere evidence, so that an interpreter prints all of it."""
    return replace(document, opening=len(document.sections))
