"""The files of one run, wherever they lie: what a `Run` reads itself from."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from profiler.store.manifest import StoredReport, StoredTable
from profiler.store.places import Location, Place


class RunFiles(Protocol):
    """What is not there is a FileNotFoundError, whatever else fails another OSError."""

    @property
    def where(self) -> Location:
        """The run, for messages."""

    def table(self, stored: StoredTable) -> bytes: ...

    def table_file(self, stored: StoredTable, data: bytes) -> Path:
        """A file of this machine that holds `data`, which are the table's bytes."""

    def shown(self, file: str) -> str:
        """A file of the run, for messages."""

    def report(self, report: StoredReport) -> Path:
        """A stored report as a file of this machine."""


@dataclass
class LooseFiles:
    """A run in a folder of its own."""

    place: Place
    name: str
    _read: dict[str, bytes] = field(default_factory=dict, repr=False)

    @property
    def where(self) -> Location:
        root = self.place.root
        return root / self.name if isinstance(root, Path) else self.place.shown(self.name)

    def table(self, stored: StoredTable) -> bytes:
        if stored.file in self._read:
            return self._read.pop(stored.file)
        return self.place.read(f"{self.name}/{stored.file}")

    def table_file(self, stored: StoredTable, data: bytes) -> Path:
        return self.place.keep(f"{self.name}/{stored.file}", data)

    def shown(self, file: str) -> str:
        return self.place.shown(f"{self.name}/{file}")

    def report(self, report: StoredReport) -> Path:
        return self.place.file(f"{self.name}/{report.file}")
