"""The settings of every question: its store of runs and its ladder."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from profiler.catalog import DEFAULT_LADDER
from profiler.catalog.project import find_declared
from profiler.errors import RunNotFound, ThresholdsInvalid
from profiler.store.tables.launch_choice import LaunchChoice

if TYPE_CHECKING:
    from profiler.ask.named.reach import Reach
    from profiler.store.remote.places import Location
    from profiler.store.runs.run_store import RunStore


def keep_silent(_: str) -> None: ...


def ladder_here(runs: Location | None = None) -> str:
    """Returns the ladder that is meant where none is named, in the folder where prof runs or in that of the runs."""
    from profiler.catalog.ladders.ladder import usual_ladder  # `prof --help` needs no ladder

    try:
        return usual_ladder(*_ladder_places(runs))
    except OSError:  # the current folder was removed
        return DEFAULT_LADDER


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Chooses the runs and the ladder. `ladder_given` says that the user chose the ladder; `note` receives remarks about an answer.

    With `gpu`, a part of a GPU's name, only runs that were recorded on it are meant; else those of the GPU that the
    project declares come first. With `size`, a number or a name means its newest run of this size, and a ladder is that of this size. With `nvtx`, only the
    launches in NVTX ranges that match it count; with `launch`, only those with this number, or in this range of numbers.
    `progress` receives a line about what takes long, and an empty one at its end.
    """

    runs: Location | None = None
    ladder: str = field(default_factory=ladder_here)
    ladder_given: bool = False
    gpu: str | None = None
    size: str | int | None = None
    nvtx: str | None = None
    launch: str | int | None = None
    reach: Reach | None = None  # limits references that an agent chose
    note: Callable[[str], None] = field(default=keep_silent, repr=False, compare=False)
    progress: Callable[[str], None] = field(default=keep_silent, repr=False, compare=False)

    @property
    def choice(self) -> LaunchChoice:
        """Returns which launches of a recording are meant."""
        return LaunchChoice(nvtx=self.nvtx, numbers=self.launch)

    @property
    def runs_folder(self) -> Location:
        """Returns the folder or the URL of the runs; the folder need not exist yet."""
        return self.runs or _find_runs_folder(Path.cwd())

    @property
    def runs_to_read(self) -> Location:
        """Returns the folder or the URL of the runs, and raises RunNotFound if the user named a folder that does not exist."""
        if isinstance(self.runs, Path) and not self.runs.exists():
            raise RunNotFound(
                f"{self.runs}: no such folder",
                remedy="Check `--runs`, or PROF_RUNS where that is set; `prof collect` and `prof ingest` make the folder.",
            )
        return self.runs_folder

    def open_store(self, location: Location | None = None) -> RunStore:
        """Returns the store of these runs, or the one at `location`; with a reach, it follows no links out of its folder."""
        from profiler.store.runs.run_store import RunStore

        return RunStore(location or self.runs_to_read, confined=self.reach is not None, note=self.note)

    @cached_property
    def usual_gpu(self) -> str | None:
        """Returns the GPU that the project declares; None if one was asked for."""
        if self.gpu is None:
            with suppress(ThresholdsInvalid):  # `prof check` refuses the file; it may be another program's
                declared = find_declared(Path.cwd(), "gpu")
                return declared[1] if declared else None
        return None

    @property
    def ladder_places(self) -> tuple[Path, ...]:
        """Returns the folders to look for a ladder in: the current one, then the folder of the runs if the user named it."""
        return _ladder_places(self.runs)


def _ladder_places(runs: Location | None) -> tuple[Path, ...]:
    return (Path.cwd(), *([runs.absolute()] if isinstance(runs, Path) else []))


def _find_runs_folder(start: Path) -> Path:
    """Returns `runs` here or in the nearest folder above, as git finds its repository."""
    for folder in (start, *start.parents):
        if (folder / "runs").is_dir():
            return folder / "runs"
    return start / "runs"
