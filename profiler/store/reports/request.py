"""What a reader process is asked, and its answer when there is nothing to do.

Light to import: the parent of the readers needs neither Arrow nor NVIDIA's library.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

import msgspec

from profiler.errors import ProfError
from profiler.store.reports.identity import REPORT_SUFFIX
from profiler.store.runs.manifest import Provenance
from profiler.store.runs.run_id import preset_name, rung_name


class Timing(msgspec.Struct, frozen=True):
    """One repeat without the profiler."""

    process: int
    repeat: int
    kernel_ns: float
    reference_ns: float | None


class Collected(msgspec.Struct, frozen=True):
    """What `prof collect` knows of a run beyond its reports."""

    key: str
    preset: str
    provenance: Provenance
    program: str = ""  # as it was given, before it moved to a neutral place
    workload: dict[str, int] | None = None
    metrics: tuple[str, ...] = ()  # asked for by name, in ncu's words
    required: tuple[str, ...] = ()  # those of them that the user asked for: one that is missing is a failure
    timings: tuple[Timing, ...] = ()


class Omitted(StrEnum):
    """What a reading leaves out of its reports, in words for people: each of these leaves out more than the one before.

    NVIDIA's reader looks up code in ways that crash it on some sound reports, such as those of CUDA graphs
    with kernels of cuBLAS.
    """

    NOTHING = ""
    GRAPH_CODE = "machine code and source lines of CUDA graphs"
    ALL_CODE = "machine code and source lines"


@dataclass(frozen=True)
class Request:
    """Which reports to read, one per process, where their folder goes, and what the run will be called.

    Where the report is a copy of one that lies elsewhere, `shown` is what messages call it, and `reference`
    where it lies for everybody.
    """

    reports: tuple[Path, ...]
    folder: Path
    name: str | None = None
    ladder: str | None = None
    kernel: int | None = None
    copy: bool = True
    stored_hashes: frozenset[str] = frozenset()
    collected: Collected | None = None
    shown: str | None = None
    reference: str | None = None
    omitted: Omitted = Omitted.NOTHING

    @property
    def report(self) -> Path:
        """The first, which stands for all where one is named."""
        return self.reports[0]

    @property
    def is_named(self) -> bool:
        """Whether somebody chose the name, or the file's own serves."""
        return self.name is not None or self.kernel is not None

    def run_name(self) -> str:
        name = self.name or stem_of(self.report.name)
        if self.ladder is not None and self.kernel is not None:
            name = rung_name(self.ladder, self.kernel)
        return preset_name(name, self.collected.preset) if self.collected else name

    def asking_less(self) -> Request | None:
        """The same reports with one part less to read; None where only what a run needs is left."""
        rest = list(Omitted)[list(Omitted).index(self.omitted) + 1 :]
        return replace(self, omitted=rest[0]) if rest else None

    def told(self, error: ProfError) -> ProfError:
        """An error of the copy as one of the original, which the user knows."""
        if self.shown is None:
            return error
        copy = str(self.report)
        details = [line.replace(copy, self.shown) for line in error.details]
        return type(error)(error.message.replace(copy, self.shown), details=details, remedy=error.remedy)


def stem_of(name: str) -> str:
    """Of a report's file, without its suffixes."""
    return name.removesuffix(".zst").removesuffix(REPORT_SUFFIX)


@dataclass(frozen=True)
class AlreadyStored:
    """Nothing was read: a run with this hash exists."""

    sha256: str
