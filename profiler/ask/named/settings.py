"""What every question needs to know: which runs it is about, and which ladder."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from profiler.catalog import DEFAULT_LADDER
from profiler.errors import RunNotFound

if TYPE_CHECKING:
    from profiler.ask.named.reach import Reach
    from profiler.store.remote.places import Location
    from profiler.store.runs.run_store import RunStore


def _keep_silent(_: str) -> None: ...


@dataclass(frozen=True, kw_only=True)
class Settings:
    """`ladder_given` where the ladder was asked for; `note` gets each remark that an answer has no place for."""

    runs: Location | None = None
    ladder: str = DEFAULT_LADDER
    ladder_given: bool = False
    reach: Reach | None = None  # of references that the user did not choose
    note: Callable[[str], None] = field(default=_keep_silent, repr=False, compare=False)

    @property
    def runs_folder(self) -> Location:
        """Returns the folder of runs, or the URL; a verb that records makes the folder."""
        return self.runs or find_runs_folder(Path.cwd())

    @property
    def runs_to_read(self) -> Location:
        """Returns the same for a question, which needs runs: a folder that was named and does not exist is misspelt."""
        if isinstance(self.runs, Path) and not self.runs.exists():
            raise RunNotFound(
                f"{self.runs}: no such folder",
                remedy="Check --runs, or PROF_RUNS where that is set; `prof collect` and `prof ingest` make the folder.",
            )
        return self.runs_folder

    def open_store(self, location: Location | None = None) -> RunStore:
        """Returns the store to read from, or another one; within a reach, links that lead out of its folder are not followed."""
        from profiler.store.runs.run_store import RunStore

        return RunStore(location or self.runs_to_read, confined=self.reach is not None)

    @property
    def ladder_places(self) -> tuple[Path, ...]:
        """Returns the folders from which a ladder is looked for: the current one, then the one of the runs that were named."""
        return (Path.cwd(), *([self.runs.absolute()] if isinstance(self.runs, Path) else []))


def find_runs_folder(start: Path) -> Path:
    """Returns `runs` here or in the nearest folder above, as git finds its repository."""
    for folder in (start, *start.parents):
        if (folder / "runs").is_dir():
            return folder / "runs"
    return start / "runs"
