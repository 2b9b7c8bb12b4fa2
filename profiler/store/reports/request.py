"""The request to read reports, and the reader's answer when there is nothing to do.

This is quick to import: the parent of the readers needs neither Arrow nor NVIDIA's library.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

import msgspec

from profiler.errors import ProfError
from profiler.store.process_timings import Timing
from profiler.store.runs.file_names import REPORT_SUFFIX
from profiler.store.runs.manifest import Provenance
from profiler.store.runs.run_id import preset_name, rung_name
from profiler.store.tables.launch_choice import ALL_LAUNCHES, LaunchChoice

OUT_OF_MEMORY, OUT_OF_FILES = 112, 113  # exit codes of a process that reads; nothing else uses them


class CollectionFacts(msgspec.Struct, frozen=True):
    """The facts that `prof collect` knows about a run and that its reports lack."""

    key: str
    preset: str
    provenance: Provenance
    program: str = ""  # as it was given, before it moved to a neutral place
    workload: dict[str, int] | None = None
    metrics: tuple[str, ...] = ()  # asked for by name, in ncu's words
    required: tuple[str, ...] = ()  # the metrics that the user asked for: a missing one is a failure
    timings: tuple[Timing, ...] = ()


class Omitted(StrEnum):
    """The parts of a report that are left out, in words for people. Each member leaves out more than the one before.

    NVIDIA's reader looks up code in ways that crash it on some sound reports, such as those of CUDA graphs
    with kernels of cuBLAS.
    """

    NOTHING = ""
    GRAPH_CODE = "machine code and source lines of CUDA graphs"
    ALL_CODE = "machine code and source lines"


class ReportPart(StrEnum):
    """The part of a report that is read: the code alone, everything else, or both."""

    ALL = "all"
    FIGURES = "figures"
    CODE = "code"


@dataclass(frozen=True)
class Request:
    """The reports to read (one for each process), the folder to fill, and the name of the run.

    When the report is a copy of another one, messages call it `shown`, and `reference` is the path or URL of
    the original.
    """

    reports: tuple[Path, ...]
    folder: Path
    name: str | None = None
    ladder: str | None = None
    kernel: int | None = None
    copy: bool = True
    stored_hashes: frozenset[str] = frozenset()
    collected: CollectionFacts | None = None
    shown: str | None = None
    reference: str | None = None
    omitted: Omitted = Omitted.NOTHING
    choice: LaunchChoice = ALL_LAUNCHES
    count: Path | None = None  # a file for the number of launches that were read, and of all

    @property
    def report(self) -> Path:
        """Returns the first report, which stands for all of them in messages."""
        return self.reports[0]

    @property
    def is_named(self) -> bool:
        """Returns whether the user chose the name; otherwise the run is named after the file."""
        return self.name is not None or self.kernel is not None

    def run_name(self) -> str:
        name = self.name or stem_of(self.report.name)
        if self.ladder is not None and self.kernel is not None:
            name = rung_name(self.ladder, self.kernel)
        return preset_name(name, self.collected.preset) if self.collected else name

    def asking_less(self) -> Request | None:
        """Returns the request that leaves out one part more; None when only parts are left that a run needs."""
        rest = list(Omitted)[list(Omitted).index(self.omitted) + 1 :]
        return replace(self, omitted=rest[0]) if rest else None

    def about_original(self, error: ProfError) -> ProfError:
        """Turns an error about the copy into one about the original, which the user knows."""
        if self.shown is None:
            return error
        copy = str(self.report)
        details = [line.replace(copy, self.shown) for line in error.details]
        return error.changed(error.message.replace(copy, self.shown), details)


def stem_of(name: str) -> str:
    """Returns the name of a report's file without its suffixes."""
    return name.removesuffix(".zst").removesuffix(REPORT_SUFFIX)


@dataclass(frozen=True)
class AlreadyStored:
    """The answer that nothing was read, since there is a run with this hash."""

    sha256: str
