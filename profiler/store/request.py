"""What a reader process is asked, and its answer when there is nothing to do.

Light to import: the parent of the readers needs neither Arrow nor NVIDIA's library.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from profiler.store.identity import REPORT_SUFFIX
from profiler.store.manifest import rung_name


@dataclass(frozen=True)
class Request:
    """Which report to read, where its folder goes, and what the run will be called."""

    report: Path
    folder: Path
    name: str | None = None
    ladder: str | None = None
    kernel: int | None = None
    copy: bool = True
    stored_hashes: frozenset[str] = frozenset()

    @property
    def is_named(self) -> bool:
        """Whether somebody chose the name, or the file's own serves."""
        return self.name is not None or self.kernel is not None

    def run_name(self) -> str:
        if self.ladder is not None and self.kernel is not None:
            return rung_name(self.ladder, self.kernel)
        return self.name or self.report.name.removesuffix(".zst").removesuffix(REPORT_SUFFIX)


@dataclass(frozen=True)
class AlreadyStored:
    """Nothing was read: a run with this hash exists."""

    sha256: str
