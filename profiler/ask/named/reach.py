"""Finds what an agent's references mean, and refuses those that lead outside the runs and folders of `prof mcp`.

In: a reference. Out: a path, or an error before any file is opened or any address is contacted.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from profiler.errors import OutOfReach

if TYPE_CHECKING:
    from profiler.store.remote.places import Location


@dataclass(frozen=True)
class Reach:
    """The runs and the folders that `prof mcp` may open. The `folders` have no links in their paths, and include the one with the runs."""

    runs: Location
    folders: tuple[Path, ...]

    @classmethod
    def of(cls, runs: Location, reports: Sequence[Path] | None) -> Reach:
        """Returns the reach of a server over these runs and the report files below `reports`, by default the current folder."""
        from profiler.store.remote.places import location_of

        runs = location_of(runs)
        own = [runs] if isinstance(runs, Path) else []
        below = _default_folders() if reports is None else list(reports)
        return cls(runs, tuple(dict.fromkeys(folder.resolve() for folder in [*own, *below])))

    @property
    def report_folders(self) -> tuple[Path, ...]:
        """Returns the folders with report files: all but the one with the runs, unless it is the only one."""
        return tuple(folder for folder in self.folders if folder != self.runs) or self.folders

    def locate(self, reference: str) -> str:
        """Returns the path that a relative one means: below the first folder that has it, else below the first that could.

        A path that leads out of the folder that it is relative to, into another one, means nothing there. A path that leads out
        of every folder stays as it is, and `check` refuses it. Whether anything is there plays no part.
        """
        if not _is_path(reference) or os.path.isabs(reference) or "\0" in reference:
            return reference
        here = Path.cwd().resolve()
        folders = dict.fromkeys([*self.report_folders, *self.folders, here])
        paths = [
            reference if folder == here else str(folder / reference)
            for folder in folders
            if folder == here or Path(os.path.abspath(folder / reference)).is_relative_to(folder)
        ]
        within = [path for path in paths if self._holds(Path(os.path.abspath(path)))]
        found = (path for path in within if self.holds(Path(path)) and os.path.exists(path))
        return next(found, within[0] if within else reference)

    def name_of(self, path: Path) -> str:
        """Returns how an agent may name a file: relative to its folder, if that means no other file."""
        for folder in self.report_folders:
            if path.is_relative_to(folder):
                name = str(path.relative_to(folder))
                return name if os.path.abspath(self.locate(name)) == str(path) else str(path)
        return str(path)

    def holds(self, path: Path) -> bool:
        """Returns whether a path lies below the folders, wherever its links lead."""
        try:
            return self._holds(path.resolve())
        except (OSError, RuntimeError, ValueError):  # a loop of links, or a name that no file can have
            return False

    def check(self, reference: str) -> None:
        """Raises OutOfReach for a URL, a report or a run's folder that this server does not read."""
        from profiler.store.remote.urls import is_url

        if is_url(reference):
            self._check_url(reference)
        elif _is_on_disk(reference):
            self._check_path(reference)

    def check_ladder(self, given: str) -> None:
        """Raises OutOfReach for a ladder's file elsewhere; a ladder's name is looked up in the server's own folders."""
        from profiler.catalog.ladders.ladder import LADDER_FILE, is_path

        if is_path(given):
            self._check_path(given)
            self._check_path(os.path.join(given, LADDER_FILE))  # of a folder

    def _check_path(self, given: str) -> None:
        try:
            real = Path(given).resolve()
        except (OSError, RuntimeError, ValueError):  # a loop of links, or a name that no file can have
            raise self._outside(f"{given}: is not a path") from None
        if self._holds(real):
            return
        if self._holds(Path(os.path.abspath(given))):
            raise self._outside(f"{given}: a link there leads out of the folders that this server reads")
        raise self._outside(f"{given}: is outside the folders that this server reads")

    def _holds(self, path: Path) -> bool:
        return any(path.is_relative_to(folder) for folder in self.folders)

    def _outside(self, message: str) -> OutOfReach:
        return OutOfReach(message, details=[f"  {folder}" for folder in self.folders])

    def _check_url(self, url: str) -> None:
        from profiler.store.remote.urls import public_url
        from profiler.store.runs.run_id import RunId

        location, _, name = url.rstrip("/").rpartition("/")
        if location.rstrip("/") == self.runs and RunId.parse(name):
            return
        raise OutOfReach(
            f"{public_url(url)}: this server opens no URL except that of the runs it was started with",
            remedy="Start it with `prof mcp --runs URL` for runs at a URL; store a report there with `prof ingest URL`, then name its run.",
        )


def _default_folders() -> list[Path]:
    """Returns the current folder, or nothing if it contains the user's home, which is private."""
    here = Path.cwd().resolve()
    return [] if Path.home().resolve().is_relative_to(here) else [here]


def _is_on_disk(reference: str) -> bool:
    """Returns whether the reference means a path of this machine rather than the name of a run."""
    return _is_path(reference) or (not reference.isdecimal() and os.path.lexists(reference))


def _is_path(reference: str) -> bool:
    """Returns whether the reference is written as a path of a file."""
    from profiler.store.remote.urls import is_url
    from profiler.store.runs.file_names import REPORT_SUFFIXES

    return not is_url(reference) and ("/" in reference or reference.endswith(REPORT_SUFFIXES))
