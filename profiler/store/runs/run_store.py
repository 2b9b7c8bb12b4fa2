"""The store of runs in a folder or at a URL: lists them, finds them and opens them.

A report that was never stored becomes a `Run` too (`unstored.py`), so the rest of prof need not know the difference.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from profiler.errors import RunDamaged, RunNotFound, RunUnreadable, RunUnusable
from profiler.store.disk import link_error
from profiler.store.packs.layout import PACK_FILE, Pack
from profiler.store.remote.objects import ObjectPlace
from profiler.store.remote.places import FolderPlace, Location, Place, location_of, reading_from
from profiler.store.runs.file_names import MANIFEST_FILE
from profiler.store.runs.index import RunIndex
from profiler.store.runs.manifest import Manifest
from profiler.store.runs.names import kernels_of, ladders_of, names_of, nothing_found
from profiler.store.runs.run import Run
from profiler.store.runs.run_id import RunId
from profiler.store.tables.schema import TABLES

if TYPE_CHECKING:
    from profiler.store.runs.commit import Staging


SWEEPS_FOLDER = "sweeps"
_AT_ONCE = 1000  # manifests held as bytes
_RECENT_S = 2.0
_DATE_DIGITS = 8
_NO_FOLDER = "Go to the folder that holds `runs`, or name it with `--runs`; a report is named by its path."


class RunStore:
    """The runs of a folder or a URL. Finding one takes a listing and one manifest.

    A run is in a folder of its own or in a pack (`packs/layout.py`); a run in both, or in two packs, counts
    once. A `confined` store follows no link that leads out of its folder.

    A run that is damaged or cannot be read hides no other: `left_out` lists it, and `note` gets a line about each.
    """

    def __init__(
        self, location: Location, *, confined: bool = False, note: Callable[[str], None] | None = None
    ) -> None:
        self.left_out: dict[str, RunUnusable] = {}  # what cannot be used, by the name of the run or the pack
        self._note = note
        self.place = _place_of(location, confined=confined)
        self.index = RunIndex(self.place)
        self._ids: list[RunId] = []
        self._listed_s = float("-inf")

    @property
    def root(self) -> Location:
        """Returns the place as messages name it."""
        return self.place.root

    @property
    def local(self) -> Path:
        """Returns the folder of this machine that holds unfinished work."""
        return self.place.local

    @property
    def packs(self) -> list[Pack]:
        """Returns the packs that `ids` found, oldest first."""
        return self.index.packs

    def is_same_place(self, other: RunStore) -> bool:
        """Returns whether both stores are the same place, even by another path or a link."""
        here, there = (root.resolve() if isinstance(root, Path) else root for root in (self.root, other.root))
        return here == there

    def staging(self) -> Staging:
        """Returns a new place to prepare runs in and commit them from."""
        from profiler.store.runs.commit import Staging

        if isinstance(self.place, ObjectPlace):
            from profiler.store.remote.upload import UploadStaging

            return UploadStaging(self.place, map(str, self._recent_ids()))
        return Staging(self.local)

    def ids(self) -> list[RunId]:
        """Returns every run, oldest first. Reads only names.

        Clients of an object store can commit the same report at once; of several ids with the same time and
        hash, every reader keeps only the first.
        """
        unique: dict[tuple[str, str], RunId] = {}
        names = self.index.names()
        for pack, error in self.index.unusable.items():
            self.leave_out(pack, error)
        for name in names:
            if run_id := RunId.parse(name):
                unique.setdefault((run_id.time, run_id.hash), run_id)
        self._ids, self._listed_s = list(unique.values()), time.monotonic()
        return list(self._ids)

    def sweep_ids(self) -> list[RunId]:
        """Returns the ids of the sweeps beside the runs, oldest first; none at a URL."""
        if not isinstance(self.root, Path):
            return []
        try:
            return RunStore(sweeps_folder(self.root)).ids()
        except RunUnusable as error:
            self.leave_out(SWEEPS_FOLDER, error)
            return []

    def open(self, run_id: RunId) -> Run:
        with reading_from(self.place.shown(f"{run_id}/{MANIFEST_FILE}")):
            run = self.index.find(str(run_id))
        if run.manifest.run_id != str(run_id) or set(run.manifest.tables) != set(TABLES):
            raise RunDamaged(f"{run.path}: the folder and its manifest do not belong together")
        return replace(run, _find_again=lambda: self.index.find(str(run_id)).files)

    def read_ahead(self, run_ids: Iterable[RunId]) -> None:
        """Fetches the manifests that `open` will need next, in one round of requests instead of many."""
        self.index.read_ahead(map(str, run_ids))

    def open_all(self, run_ids: Iterable[RunId]) -> list[Run]:
        """Opens several runs, and leaves out the damaged ones."""
        return list(self._whole(run_ids))

    def _whole(self, run_ids: Iterable[RunId]) -> Iterator[Run]:
        wanted = list(run_ids)
        for run_id, run in zip(wanted, self._opened(wanted), strict=True):
            if isinstance(run, RunUnusable):
                self.leave_out(str(run_id), run)
            else:
                yield run

    def _opened(self, run_ids: Sequence[RunId]) -> Iterator[Run | RunUnusable]:
        """Yields each run, or what is wrong with it. From a URL, many manifests are requested at once."""
        for start in range(0, len(run_ids), _AT_ONCE):
            some = run_ids[start : start + _AT_ONCE]
            self.read_ahead(some)
            for run_id in some:
                try:
                    run = self.open(run_id)
                except RunUnusable as error:
                    yield error
                else:
                    yield run

    def require_whole(self) -> None:
        """Raises the error of what was left out; of several, one with a line for each, RunDamaged if one of them is."""
        errors = sorted(self.left_out.values(), key=lambda error: not isinstance(error, RunDamaged))
        if len(errors) > 1:
            raise type(errors[0])(
                f"{self.root}: {len(errors)} runs or packs were left out:",
                details=[f"  {error.message}" for error in self.left_out.values()],
            )
        for error in errors:
            raise error

    def manifests(self) -> Iterator[Manifest]:
        """Returns the manifests of all runs that are whole, oldest first."""
        return (run.manifest for run in self._whole(self.ids()))

    def find(self, reference: str, ladder: str) -> Run:
        """Finds the newest run by a kernel number, a run id or the start of one, or a name.

        A number means the kernel's profile, or its timings when it was never profiled.
        """
        ids = self._recent_ids()
        for name in names_of(reference, ladder):
            if named := [run_id for run_id in ids if run_id.name == name]:
                return self.open(named[-1])
        # 2 is a kernel, not the start of a year.
        is_start = len(reference) >= _DATE_DIGITS
        starting = [run_id for run_id in ids if is_start and str(run_id).startswith(reference)]
        if len(starting) == 1 or (starting and str(starting[0]) == reference):
            return self.open(starting[0])
        if starting:
            raise RunNotFound(
                f"'{reference}' is the start of {len(starting)} run ids:",
                details=[f"  {run_id}" for run_id in starting[:8]],
                remedy="Give more of the id.",
            )
        if isinstance(self.root, Path) and not self.root.exists():
            raise RunNotFound(f"{self.root}: no such folder, so '{reference}' is no run", remedy=_NO_FOLDER)
        raise RunNotFound(
            f"{self.root}: {nothing_found(reference, ladder, (run_id.name for run_id in ids))}",
            details=[f"  not searched: {error.message}" for error in self.left_out.values()],
        )

    def find_all(self, reference: str, ladder: str) -> Iterator[Run | RunUnusable]:
        """Returns every run that a number or a name means, newest first, timings after profiles; or its error."""
        ids = self._recent_ids()[::-1]
        names = dict.fromkeys(names_of(reference, ladder))
        return self._opened([run_id for name in names for run_id in ids if run_id.name == name])

    def knows_ladder(self, ladder: str) -> bool:
        """Returns whether there is a run of one of the ladder's kernels. Reads only names."""
        return bool(kernels_of(ladder, (run_id.name for run_id in self._recent_ids()), any_preset=True))

    def ladders(self) -> list[str]:
        """Returns the ladders that have runs. Reads only names."""
        return ladders_of(run_id.name for run_id in self._recent_ids())

    def with_hash(self, sha256: str) -> Run | None:
        """Returns the run of the report with this hash, or None; IdTaken when the hash of another run has the same start."""
        known = [run_id for run_id in self.ids() if sha256.startswith(run_id.hash)]
        if not self.index.holds(sha256, map(str, known)):
            return None
        return next(run for run in self.open_all(known) if run.manifest.sha256 == sha256)

    def leave_out(self, name: str, error: RunUnusable) -> None:
        """Notes that a damaged run or pack is not part of the answer."""
        if name not in self.left_out and self._note is not None:
            self._note(f"left out: {error.message}")
        self.left_out[name] = error

    def _recent_ids(self) -> list[RunId]:
        """Lists the runs. At a URL, where a listing takes many requests, one from a moment ago is good enough."""
        if isinstance(self.root, Path) or time.monotonic() - self._listed_s > _RECENT_S:
            return self.ids()
        return self._ids


def sweeps_folder(runs: Path) -> Path:
    """Returns the folder of the sweeps beside the runs. A link is an error: it could lead out of them."""
    folder = runs / SWEEPS_FOLDER
    if folder.is_symlink():
        raise link_error(RunUnreadable, folder)
    return folder


def _place_of(location: Location, *, confined: bool) -> Place:
    location = location_of(location)
    if isinstance(location, Path):
        return FolderPlace(location, confined=confined)
    return ObjectPlace(location, last_files=(MANIFEST_FILE, PACK_FILE))
