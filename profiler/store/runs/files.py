"""The files of one run in a folder of its own; `packs/layout.py` has those of a run in a pack.

A missing file raises FileNotFoundError, and any other trouble another OSError. At a URL, all tables of a run
are requested together as soon as the first one is needed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from profiler.errors import RunDamaged
from profiler.store.remote.bounds import MOST_AHEAD_BYTES
from profiler.store.remote.places import Location, Piece, Place
from profiler.store.runs.manifest import StoredReport, StoredTable


@dataclass
class RunFiles:
    """The files of the run called `name`, in a folder with that name; `stored` is what its manifest says of its tables."""

    place: Place
    name: str
    stored: Mapping[str, StoredTable] = field(repr=False)
    _ahead: dict[str, bytes] | None = field(default=None, init=False, repr=False)

    @property
    def where(self) -> Location:
        """Returns the run's own path or URL, for messages."""
        root = self.place.root
        return root / self.name if isinstance(root, Path) else self.place.shown(self.name)

    def table(self, table: str) -> bytes:
        """Returns the table's Parquet file as it was recorded; RunDamaged when its SHA-256 differs."""
        if self._ahead is None and not isinstance(self.place.root, Path):
            read_ahead([self])
        data = self._ahead.pop(table, None) if self._ahead else None
        if data is None:
            data = self.place.read(*self.piece(table))
        if hashlib.sha256(data).hexdigest() != self.stored[table].sha256:
            raise RunDamaged(
                f"{self.shown_table(table)}: the table is not the one recorded (its SHA-256 differs)"
            )
        return data

    def shown_table(self, table: str) -> str:
        """Returns the table's file, for messages."""
        return self.shown(self.stored[table].file)

    def report(self, report: StoredReport) -> Path:
        """Returns a file of this machine that holds the stored report."""
        return self.place.file(self.report_name(report))

    def piece(self, table: str) -> Piece:
        """Returns the file and the range of bytes that hold the table, within the place."""
        return f"{self.name}/{self.stored[table].file}", None, None

    def parquet(self, table: str) -> tuple[Path, range | None]:
        """Returns a verified Parquet file of this machine, and which of its row groups are the table: None for all of them."""
        return self.place.keep(f"{self.name}/{self.stored[table].file}", self.table(table)), None

    def shown(self, file: str) -> str:
        """Returns the name of a file of the run, for messages."""
        return self.place.shown(f"{self.name}/{file}")

    def report_name(self, report: StoredReport) -> str:
        """Returns the name of the stored report within the place."""
        return f"{self.name}/{report.file}"

    def shown_report(self, report: StoredReport) -> str:
        """Returns the stored report's file, for messages."""
        return self.place.shown(self.report_name(report))


def read_ahead(runs: Sequence[RunFiles], table: str | None = None) -> None:
    """Fetches all tables that have rows, or the one called `table`, of several runs of one place in one round
    of requests.

    Ignores what cannot be read: whoever asks for it next gets the error.
    """
    wanted = [
        (files, name, files.piece(name))
        for files in runs
        for name, stored in files.stored.items()
        if stored.rows and table in (None, name)
    ]
    for files in runs:
        files._ahead = {}
    if not wanted:
        return
    found = runs[0].place.read_all([piece for _, _, piece in wanted], MOST_AHEAD_BYTES)
    for (files, name, _), data in zip(wanted, found, strict=True):
        if isinstance(data, bytes) and files._ahead is not None:
            files._ahead[name] = data
