"""The files of a run that has a folder of its own. Those of a packed one are in `packs.py`, and answer alike.

What is not there is a FileNotFoundError, whatever else fails another OSError.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from profiler.store.manifest import StoredReport, StoredTable
from profiler.store.places import Location, Place


@dataclass
class LooseFiles:
    """Where they are far away, all tables of the run are asked for when the first one is."""

    place: Place
    name: str
    tables: dict[str, StoredTable] = field(default_factory=dict, repr=False)
    _ahead: dict[str, bytes] = field(default_factory=dict, repr=False)

    @property
    def where(self) -> Location:
        """The run, for messages."""
        root = self.place.root
        return root / self.name if isinstance(root, Path) else self.place.shown(self.name)

    def table(self, table: str, stored: StoredTable) -> bytes:  # noqa: ARG002 - a packed run wants its name
        if stored.file not in self._ahead and not isinstance(self.place.root, Path):
            read_ahead([self], self.tables)
            self.tables = {}
        known = self._ahead.pop(stored.file, None)
        return self.place.read(f"{self.name}/{stored.file}") if known is None else known

    def keep(self, stored: StoredTable, data: bytes) -> Path:
        """A file of this machine with the table's bytes, which were just read."""
        return self.place.keep(f"{self.name}/{stored.file}", data)

    def shown(self, file: str) -> str:
        """A file of the run, for messages."""
        return self.place.shown(f"{self.name}/{file}")

    def report_name(self, report: StoredReport) -> str:
        """Of a stored report, within the place."""
        return f"{self.name}/{report.file}"

    def report(self, report: StoredReport) -> Path:
        """The same as a file of this machine."""
        return self.place.file(self.report_name(report))


def read_ahead(runs: Sequence[LooseFiles], tables: Iterable[str]) -> None:
    """These tables of runs of one place, all at once. What cannot be read is left to whoever asks for it."""
    wanted = [
        (files, stored.file)
        for files in runs
        for table in tables
        if (stored := files.tables.get(table)) and stored.rows
    ]
    if not wanted:
        return
    found = wanted[0][0].place.read_all([(f"{files.name}/{file}", None, None) for files, file in wanted])
    for (files, file), data in zip(wanted, found, strict=True):
        if isinstance(data, bytes):
            files._ahead[file] = data
