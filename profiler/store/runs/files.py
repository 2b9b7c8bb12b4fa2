"""The files of a run: in a folder of its own here, or in a pack (`packs.py`), which answers alike.

What is not there is a FileNotFoundError, whatever else fails another OSError. Where files are far away, all
tables of a run are asked for when the first one is.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from profiler.store.remote.places import Location, Piece, Place
from profiler.store.runs.manifest import StoredReport, StoredTable


@dataclass
class RunFiles(ABC):
    """Of the run called `name`."""

    place: Place
    name: str
    _ahead: dict[str, bytes] | None = field(default=None, init=False, repr=False)

    @property
    def where(self) -> Location:
        """The run, for messages."""
        root = self.place.root
        return root / self.name if isinstance(root, Path) else self.place.shown(self.name)

    def table(self, table: str, stored: StoredTable) -> bytes:
        """The table's file, as it was written."""
        if self._ahead is None and not isinstance(self.place.root, Path):
            read_ahead([self])
        known = self._ahead.pop(table, None) if self._ahead else None
        return self.place.read(*self.piece(table, stored)) if known is None else known

    @abstractmethod
    def piece(self, table: str, stored: StoredTable) -> Piece:
        """Where the table's file is, within the place."""

    @abstractmethod
    def tables(self) -> Mapping[str, Piece]:
        """The same of each that has rows."""

    @abstractmethod
    def shown(self, file: str) -> str:
        """A file of the run, for messages."""

    @abstractmethod
    def report_name(self, report: StoredReport) -> str:
        """Of a stored report, within the place."""

    def report(self, report: StoredReport) -> Path:
        """The same as a file of this machine."""
        return self.place.file(self.report_name(report))


@dataclass
class LooseFiles(RunFiles):
    """In a folder that has the run's name."""

    stored: dict[str, StoredTable] = field(default_factory=dict, repr=False)

    def piece(self, table: str, stored: StoredTable) -> Piece:  # noqa: ARG002
        return f"{self.name}/{stored.file}", None, None

    def tables(self) -> Mapping[str, Piece]:
        return {table: self.piece(table, stored) for table, stored in self.stored.items() if stored.rows}

    def keep(self, stored: StoredTable, data: bytes) -> Path:
        """A file of this machine with the table's bytes, which were just read."""
        return self.place.keep(f"{self.name}/{stored.file}", data)

    def shown(self, file: str) -> str:
        return self.place.shown(f"{self.name}/{file}")

    def report_name(self, report: StoredReport) -> str:
        return f"{self.name}/{report.file}"


def read_ahead(runs: Sequence[RunFiles], table: str | None = None) -> None:
    """All tables, or one, of runs of one place at once. What cannot be read is left to whoever asks for it."""
    wanted = [
        (files, name, piece)
        for files in runs
        for name, piece in files.tables().items()
        if table in (None, name)
    ]
    for files in runs:
        files._ahead = {}
    if not wanted:
        return
    found = runs[0].place.read_all([piece for _, _, piece in wanted])
    for (files, name, _), data in zip(wanted, found, strict=True):
        if isinstance(data, bytes) and files._ahead is not None:
            files._ahead[name] = data
