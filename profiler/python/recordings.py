"""Recordings for the Python interface: the runs of a store, one run or report, and the run that `measure` commits."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, Self

from msgspec.structs import replace

from profiler.analyse.recording.index import IndexEntry, index_of
from profiler.analyse.recording.kernel_names import called_name
from profiler.analyse.recording.overview import RecordingOverview
from profiler.ask.named.settings import Settings, ladder_here
from profiler.ask.named.sizes import find_run
from profiler.errors import QueryFailed, RunNotFound
from profiler.present.document import Caution, Document, Facts
from profiler.python.answers import Origin, Sheet
from profiler.python.choosing import chosen, is_there
from profiler.python.did_you_mean import lacking
from profiler.python.entries import index_frame
from profiler.python.package import advised
from profiler.python.shows_itself import Documentation, ShowsItself
from profiler.python.words import told
from profiler.store.runs.run import Run
from profiler.store.runs.run_store import RunStore
from profiler.store.tables.schema import TABLES
from profiler.text import counted, duration, names_like, shortened

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from profiler.measuring.functions.survey import LaunchedKernel


_NAME_WIDTH, _MOST_KERNELS = 60, 10
# Of a wide frame, pandas shows the first and the last columns. So these are the columns of runs for which a terminal has room.
_FIRST, _LAST = ("name", "kernel"), ("launches", "gpu")
_OF_A_RUN = ("run_id", "process")  # columns that tell the rows of several runs, and of their reports, apart


@dataclass(repr=False)
class Recording(ShowsItself, Run):
    """A stored run, or a report, of one kernel or several; `[0]` or `["name"]` is the answer about one kernel.

    kernels       the names of the kernels that were profiled
    top()         the kernels by their share of the time
    to_pandas(t)  a table as it is stored: launches, metrics, instances, instructions, rules or timings
    table(t)      the same as a table of Arrow
    manifest      everything needed to believe or repeat it: `.gpus`, `.workload`, `.command_line`
    label         what sentences call it
    ns            the median time without the profiler, in nanoseconds; None if it was not timed
    reference_ns  that of the reference
    text()        all that is shown of it
    """

    @classmethod
    def of(cls, run: Run, **more: Any) -> Self:
        return cls(**vars(run), **more)

    @property
    def ns(self) -> float | Any:
        """Returns the median time of the whole function on the GPU, without the profiler, in nanoseconds; None if it was not timed."""
        return self._median_time("kernel_ns")

    @property
    def reference_ns(self) -> float | Any:
        """Returns the median time of the reference, which took turns with the function; None if it was not timed."""
        return self._median_time("reference_ns")

    def _median_time(self, column: str) -> float | None:
        times = self.table("timings").column(column).drop_null().to_pylist()
        return float(median(times)) if times else None

    @property
    def kernels(self) -> list[str]:
        """Returns the names of the kernels that were profiled."""
        return [kernel.name for kernel in self.manifest.kernels]

    @advised()
    def to_pandas(self, name: str = "") -> pd.DataFrame:
        """Returns a table as it is stored: launches, metrics, instances, instructions, rules or timings.

        That of a report leaves out its run and its process: it is no run yet, and one report alone.
        """
        if not name:
            raise TypeError(f"to_pandas() needs the name of a table: {', '.join(TABLES)}")
        _require_table(name)
        frame = super().to_pandas(name)
        return frame if self.stored else frame.drop(columns=list(_OF_A_RUN), errors="ignore")

    @advised()
    def table(self, name: str) -> pa.Table:
        """Returns a table as it is stored, as a table of Arrow."""
        _require_table(name)
        return super().table(name)

    def __dir__(self) -> list[str]:
        """Returns what there is to use, for tab completion; the rest serves the commands."""
        return ["kernels", "label", "manifest", "ns", "reference_ns", "table", "text", "to_pandas", "top"]

    def __len__(self) -> int:
        return len(self.manifest.kernels)

    def __bool__(self) -> bool:
        return True

    def __iter__(self) -> Iterator[Sheet]:
        return (self._sheet(name) for name in self.kernels)

    @advised()
    def __getitem__(self, kernel: int | str) -> Sheet:
        """Returns the sheet of one kernel, by its place in `.kernels` or by its name."""
        return self._sheet(chosen(self.label, self.kernels, self.kernels, kernel))

    def __contains__(self, kernel: object) -> bool:
        """Returns True if one kernel has this name, as `[name]` understands it."""
        return is_there(self.kernels, kernel)

    def _ipython_key_completions_(self) -> list[str]:
        return list(map(called_name, self.kernels))

    @advised()
    def top(self, count: int | None = None) -> pd.DataFrame:
        """Returns the kernels by their share of the time, as `prof show` lists them: all, or the first `count`."""
        return index_frame(index_of(self)[:count], IndexEntry)

    def _sheet(self, kernel: str) -> Sheet:
        from profiler.ask.show import sheet_of

        return Sheet.of_origin(sheet_of(self, kernel, Settings()), Origin(str(self.path)))

    def __repr__(self) -> str:
        launches = counted(self.manifest.launches, "launch", "launches")
        return f"<Recording {self.label}: {counted(len(self), 'kernel')}, {launches}>"

    def _document(self, *, full: bool = False) -> Document:  # noqa: ARG002
        from profiler.ask.show import timing_of
        from profiler.present.documents.recording import recording_document

        timed = self.table("timings").num_rows > 0
        timing = timing_of(self, Settings()) if timed else None
        recording = RecordingOverview(self, list(self), timing)
        return recording_document(recording, full=len(self) == 1)


@dataclass(repr=False)
class Measurement(Recording):
    """A run that `measure` committed; `[0]` or `["name"]` is the answer about one of the profiled kernels.

    ns            the median time of the whole function on the GPU, without the profiler, in nanoseconds
    reference_ns  that of the reference
    launched      the kernels of a call, the longest first
    cautions      what to doubt
    kernels       the names of the kernels that were profiled
    top()         the kernels by their share of the time
    to_pandas(t)  a table as it is stored: launches, metrics, instances, instructions, rules or timings
    table(t)      the same as a table of Arrow
    manifest      everything needed to believe or repeat it
    text()        all that is shown of it
    """

    launched: tuple[LaunchedKernel, ...] = ()
    cautions: tuple[str, ...] = ()

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), "cautions", "launched"]

    def _document(self, *, full: bool = False) -> Document:  # noqa: ARG002
        """Returns the document with the kernels of a call, and the cautions that are not stored, behind its answer."""
        found = super()._document()
        stored = self.manifest.facts.cautions
        cautions = [Caution(one) for one in self.cautions if one not in map(told, stored)]
        kernels = [
            f"{one.launches} x {shortened(one.name, _NAME_WIDTH)}, {duration(one.ns)}"
            for one in self.launched[:_MOST_KERNELS]
        ]
        if more := len(self.launched) - len(kernels):
            kernels.append(f"{counted(more, 'other')} that take less")
        names = ["launches", *[""] * len(kernels)]
        facts = [Facts(list(zip(names, kernels, strict=False)))] if len(kernels) > 1 else []
        answer, evidence = found.sections[: found.opening], found.sections[found.opening :]
        return replace(found, sections=[*answer, cautions, facts, *evidence])

    def __repr__(self) -> str:
        kernels = counted(len(self.launched), "kernel")
        first = f"<Measurement {self.manifest.name}: {self.ns / 1e3:.2f} us, {kernels}, run {self.manifest.run_id}>"
        return "\n".join([first, *(f"caution: {one}" for one in self.cautions)])


class Runs(RunStore):
    __doc__ = Documentation("""The runs of a folder or of a URL: `runs["gemm-6"]` is the newest run of that name.

    ids()        the ids of all runs, oldest first
    find(name)   the newest run of a name or an id; with `ladder`, of a kernel's number on it
    to_pandas()  one row for each run
    query(sql)   what a SELECT finds in the tables of all runs
    root         the folder or the URL
    """)

    def __dir__(self) -> list[str]:
        """Returns what there is to use, for tab completion; the rest serves the commands."""
        return ["find", "ids", "query", "root", "to_pandas"]

    def __len__(self) -> int:
        return len(self.ids())

    def __bool__(self) -> bool:
        return True

    def __iter__(self) -> Iterator[Recording]:
        """Yields every run that is whole, oldest first."""
        return map(Recording.of, self.open_all(self.ids()))

    def __contains__(self, reference: object) -> bool:
        """Returns True if `runs[reference]` finds a run."""
        with suppress(RunNotFound):
            return bool(self.find(str(reference)))
        return False

    def __getitem__(self, reference: str) -> Recording:
        """Returns the newest run with this name, such as `gemm-6`, or the run with this id."""
        return self.find(reference)

    def _ipython_key_completions_(self) -> list[str]:
        return sorted({one.name for one in self.ids()})

    @advised()
    def find(self, reference: str | int, ladder: str | None = None) -> Recording:
        """Returns the newest run of a name, an id, or a kernel's number on this ladder, as the commands find it."""
        chosen = ladder_here(self.root) if ladder is None else ladder
        settings = Settings(runs=self.root, ladder=chosen, ladder_given=True)
        return Recording.of(find_run(str(reference), settings.open_store(), settings))

    def to_pandas(self) -> pd.DataFrame:
        """Returns one row for each run that is whole, oldest first: the table `runs` of `query`."""
        from profiler.store.queried_tables import runs_table

        found: pd.DataFrame = runs_table(self.manifests()).to_pandas()
        return found[[*_FIRST, *(one for one in found if one not in (*_FIRST, *_LAST)), *_LAST]]

    @advised()
    def query(self, sql: str) -> pd.DataFrame:
        """Returns what a SELECT finds in the tables of all runs, as `prof query` does; damaged runs are left out."""
        import pyarrow as pa

        from profiler.store.query import open_query

        with open_query(self, sql) as answer:
            found: pd.DataFrame = pa.Table.from_batches(answer.batches, answer.schema).to_pandas()
        self.require_whole()
        return found

    if not TYPE_CHECKING:  # which refuses it, too

        def __getattr__(self, name):
            raise AttributeError(
                f"Runs has no {name!r}" + ("" if name.startswith("_") else lacking(self, name))
            )

    def __repr__(self) -> str:
        return f"<Runs: {len(self)} in {self.root}>"


def open_existing(location: str | Path) -> Runs:
    """Returns the runs in a folder or at a URL, and raises RunNotFound if there is no such folder."""
    runs = Runs(location)
    if isinstance(runs.root, Path) and not runs.root.exists():
        raise RunNotFound(
            f"{runs.root}: no such folder",
            remedy="`prof.measure` makes a folder of runs, and so does `prof ingest` in a terminal.",
        )
    return runs


def _require_table(name: str) -> None:
    if name not in TABLES:
        near = names_like(name, TABLES)
        raise QueryFailed(
            f"{name!r} is no table of a recording",
            remedy=f"Did you mean {near[0]!r}?" if near else f"There are {', '.join(TABLES)}.",
        )
