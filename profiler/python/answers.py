"""The answers that the Python interface returns: findings that show themselves in an interpreter and in a notebook.

An answer about one kernel and one about several have the same ways in: `.sheets` or `.comparisons`, and `.to_pandas()`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn, Self, TypeVar

from msgspec import Struct
from msgspec.structs import asdict, replace

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
from profiler.analyse.ladder.climb import LadderSheet
from profiler.analyse.recording.index import IndexEntry
from profiler.analyse.recording.overview import RecordingOverview, SheetFinding, SheetMetric
from profiler.analyse.recording.triage import Triage, TriagedKernel
from profiler.errors import ReportError
from profiler.present.document import Document
from profiler.python.choosing import Named, chosen, is_there
from profiler.python.did_you_mean import lacking
from profiler.python.words import in_python
from profiler.text import counted, report_name, shortened

if TYPE_CHECKING:
    import pandas as pd

    from profiler.ask.show import ShownTogether

_NAME_WIDTH = 60
_MOST_CHECKED = 12  # kernels of which a log gets every figure
_SENTENCES = ("headline", "cautions", "pairs")  # fields that people print
_NAMED = ("metrics", "causes")  # fields whose entries have names
# For the commands, not for users.
_INNER = ("finding", "of", "of_several", "run", "schema_version", "left_out", "view")
_Answer = TypeVar("_Answer")


class ShowsItself:
    """A finding that shows the answer alone in an interpreter, and all of its document in a notebook."""

    def _document(self) -> Document:
        raise NotImplementedError

    def __repr__(self) -> str:
        from profiler.present.render import terminal

        return terminal.document_text(in_python(self._document().brief), terminal.Window())

    def text(self) -> str:
        """Returns all of the document as a terminal shows it, with every table: `print(sheet.text())`."""
        from profiler.present.render import terminal

        return terminal.document_text(in_python(self._whole()), terminal.Window())

    def _whole(self) -> Document:
        """Returns the document with nothing folded away."""
        return self._document()

    def _repr_html_(self) -> str:
        """Returns the document as the page shows it, without its charts, with the style that a cell needs."""
        from profiler.present.page.cell import cell_html

        return cell_html(in_python(self._document()))

    def __dir__(self) -> list[str]:
        """Returns what there is to use, for tab completion; the rest serves the commands."""
        return [name for name in super().__dir__() if not name.startswith("_") and name not in _INNER]

    if not TYPE_CHECKING:  # so that a checker refuses both, too

        def __getattr__(self, name):
            hint = "" if name.startswith("_") else lacking(self, name)
            raise AttributeError(f"{type(self).__name__} has no {name!r}{hint}")

        def __getitem__(self, name):
            raise TypeError(f"{type(self).__name__} has no [{name!r}]{lacking(self, name)}")


class _Shown(ShowsItself, Struct, frozen=True):
    @classmethod
    def of(cls, finding: Struct) -> Self:
        fields = {name: getattr(finding, name) for name in finding.__struct_fields__}
        fields |= {name: Named(fields[name]) for name in _NAMED if name in fields}
        return cls(**{name: in_python(one) if name in _SENTENCES else one for name, one in fields.items()})


class Comparison(_Shown, ComparisonFinding, frozen=True):
    """A comparison: `.speedup.ratio` and its `.ci`, `.headline.why`, `.causes`, `.metrics`, `.to_pandas()`."""

    # None only where neither recording has a duration, which no script should have to ask for.
    if TYPE_CHECKING:
        speedup: Speedup | Any
        headline: Headline | Any
        metrics: Named[MetricDelta]
        causes: Named[Cause] = Named()

    @property
    def comparisons(self) -> list[Comparison]:
        """Returns this one alone. A comparison of several kernels has one for each."""
        return [self]

    def _document(self) -> Document:
        from profiler.present.documents.comparison import comparison_document

        return comparison_document(self)

    def _whole(self) -> Document:
        from profiler.present.documents.comparison import comparison_document

        return comparison_document(self, full=True)


class Sheet(_Shown, SheetFinding, frozen=True):
    """One kernel: `.headline.why` and `.next`, `.causes`, `.metrics`, `.rules`, `.to_pandas()`."""

    if TYPE_CHECKING:
        headline: Headline | Any = None  # None only where no duration was recorded
        metrics: Named[SheetMetric]
        causes: Named[Cause] = Named()

    @property
    def sheets(self) -> list[Sheet]:
        """Returns this one alone. A recording of several kernels has one for each."""
        return [self]

    def to_pandas(self) -> pd.DataFrame:
        """Returns one row for each metric, indexed by its name."""
        import pandas as pd

        columns = SheetMetric.__struct_fields__
        return pd.DataFrame(map(asdict, self.metrics), columns=columns).set_index("name")

    def _document(self) -> Document:
        from profiler.present.documents.recording import sheet_document

        return sheet_document(self)


class _Several:
    """An answer about several kernels, or about none. Its error says how to choose one, if you ask for what only one kernel has."""

    def _kernels(self) -> list[str]:
        raise NotImplementedError

    def _sources(self) -> list[str]:
        """Returns the name of the recording of each kernel, where it chooses one, too."""
        return []

    def __getattr__(self, name: str) -> NoReturn:
        text = f"{type(self).__name__} has no {name!r}"
        if not name.startswith("_"):
            kernels = counted(len(self._kernels()), "kernel")
            text += f"; it is about {kernels}"
            text += ": [0] or ['its name'] chooses one, and so does kernel_name='its name'" * bool(len(self))
        raise AttributeError(text)

    def __len__(self) -> int:
        return len(self._kernels())

    def __bool__(self) -> bool:
        return True

    def __contains__(self, kernel: object) -> bool:
        """Returns True if one kernel has this name, as `[name]` understands it."""
        return is_there(self._kernels(), kernel, self._sources())


class ShownComparisons(_Several, _Shown, Comparisons, frozen=True):
    """Every kernel of two recordings: `.headline`, `.index`, and `.comparisons`, the largest change of time first."""

    if TYPE_CHECKING:
        headline: Headline | Any
        comparisons: list[Comparison]  # type: ignore[assignment]

    @classmethod
    def of(cls, finding: Struct) -> Self:
        found = super().of(finding)
        return replace(found, comparisons=[Comparison.of(one) for one in found.comparisons])

    def __iter__(self) -> Iterator[Comparison]:
        return iter(self.comparisons)

    def __getitem__(self, kernel: int | str) -> Comparison:
        """Returns the comparison of one kernel, by its place or by its name."""
        return chosen("the comparison", self.comparisons, self._kernels(), kernel)

    def _kernels(self) -> list[str]:
        return [one.after.kernel_name for one in self.comparisons]

    def to_pandas(self) -> pd.DataFrame:
        """Returns one row for each kernel, the largest change of time first."""
        return index_frame(self.index, ComparedKernel)

    def _document(self) -> Document:
        from profiler.present.documents.comparisons import comparisons_document

        return comparisons_document(self)

    def _whole(self) -> Document:
        from profiler.present.documents.comparisons import comparisons_document

        return comparisons_document(self, full=True)


@dataclass(frozen=True, repr=False)
class Overview(_Several, ShowsItself, RecordingOverview):
    """Several kernels of a recording: `.headline`, `.index` by their share of the time, and `.sheets`; or times alone: `.timing`."""

    if TYPE_CHECKING:
        sheets: list[Sheet]  # type: ignore[assignment]

    @property
    def headline(self) -> Headline | Any:
        """The answer about where the time of several kernels goes, or about the times."""
        timed = None if self.sheets or self.timing is None else self.timing.headline
        return in_python(timed or super().headline)

    def __iter__(self) -> Iterator[Sheet]:
        return iter(self.sheets)

    def __getitem__(self, kernel: int | str) -> Sheet:
        """Returns the sheet of one kernel, by its place or by its name."""
        return chosen(self.run.label, self.sheets, self._kernels(), kernel)

    def _kernels(self) -> list[str]:
        return [one.kernel for one in self.sheets]

    def to_pandas(self) -> pd.DataFrame:
        """Returns one row for each kernel, by its share of the time. Names are cut to 60 characters."""
        return index_frame(self.index, IndexEntry)

    def _document(self) -> Document:
        from profiler.present.documents.recording import recording_document

        return recording_document(self)

    def _whole(self) -> Document:
        from profiler.present.documents.recording import recording_document

        return recording_document(self, full=True)


class ShownTriage(_Several, _Shown, Triage, frozen=True):
    """The kernels of several recordings: `.headline`, `.index` by their share of the time, and `.sheets`; `.errors` of reports that cannot be read."""

    sheets: list[Sheet] = []
    errors: list[ReportError] = []

    if TYPE_CHECKING:
        headline: Headline | Any

    @classmethod
    def of_several(cls, shown: ShownTogether) -> Self:
        return replace(cls.of(shown.finding), sheets=list(map(Sheet.of, shown.sheets)), errors=shown.errors)

    def __iter__(self) -> Iterator[Sheet]:
        return iter(self.sheets)

    def __getitem__(self, kernel: int | str) -> Sheet:
        """Returns the sheet of one kernel, by its place, by its name, or by that of its recording."""
        label = counted(self.recordings, "recording")
        return chosen(label, self.sheets, self._kernels(), kernel, self._sources())

    def _kernels(self) -> list[str]:
        return [one.kernel for one in self.sheets]

    def _sources(self) -> list[str]:
        return [report_name(one.source) for one in self.index]

    def to_pandas(self) -> pd.DataFrame:
        """Returns one row for each kernel of each recording, by its share of the time of all. Names are cut to 60 characters."""
        return index_frame(self.index, TriagedKernel)

    def _document(self) -> Document:
        from profiler.present.documents.triage import triage_document

        return triage_document(self, full=False)

    def _whole(self) -> Document:
        from profiler.present.documents.triage import triage_document

        return triage_document(self, full=True)


class Check(_Shown, CheckFinding, frozen=True):
    """Says whether kernels got slower than a baseline: `.passed` is the answer, `.headline` explains it, and `.pairs` has one entry for each kernel."""

    @property
    def passed(self) -> bool:
        """Returns whether every kernel is certainly within its limits: an unclear result has not passed."""
        return self.outcome == "passed"

    def _document(self) -> Document:
        from profiler.present.documents.check import check_document

        found = check_document(self)
        return found if len(self.pairs) > _MOST_CHECKED else _all_answer(found)


@dataclass(frozen=True, repr=False)
class ShownCode(ShowsItself):
    """The machine code of one hot loop, or of two side by side: `.kernels`, and the `.changes` of their loads."""

    view: CodeView

    @property
    def kernels(self) -> list[LoopSheet]:
        return self.view.finding.kernels

    @property
    def changes(self) -> list[LoadChange]:
        return self.view.finding.changes

    def _document(self) -> Document:
        from profiler.present.documents.code import code_document

        return _all_answer(code_document(self.view))


class ShownLadder(_Shown, LadderSheet, frozen=True):
    """A ladder: `.to_pandas()` has a row a rung, `.steps_to_pandas()` one a step and metric, `.stalls_to_pandas()` the stalls."""

    def _document(self) -> Document:
        from profiler.present.documents.ladder import ladder_document

        return _all_answer(ladder_document(self.ladder, (), reference=self.reference))


def _all_answer(document: Document) -> Document:
    """Returns a document of which nothing is mere evidence, so that an interpreter prints all of it."""
    return replace(document, opening=len(document.sections))


def index_frame(entries: Sequence[Struct], kind: type[Struct]) -> pd.DataFrame:
    """Returns a row for each entry, with one column of names, which are cut: long ones hide all else."""
    import pandas as pd

    found = pd.DataFrame(map(asdict, entries), columns=kind.__struct_fields__)
    names = [shortened(name, _NAME_WIDTH) for name in found.get("kernel", found["kernel_name"])]
    return found.drop(columns="kernel_name").assign(kernel=names)
