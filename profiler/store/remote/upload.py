"""How a run comes to exist on an object store, which can neither rename nor lock: whole, and once.

A run is prepared in a folder of this machine and its files are put under its own prefix. None is ever overwritten:
a name that is taken by other bytes (of an upload that was killed, or is under way elsewhere, by another version of prof)
is left to them, and the file gets a name of its own, which the manifest knows. The manifest is put last, by a
request that fails where one is there, and with it the run becomes visible; so a visible run is whole.

The same report may be committed twice at once, even under two names. Then the ids share the time and the hash, and of such
every reader sees the smallest alone (`RunStore.ids`), whoever was first and whoever was killed: one run, at any
moment. Each client looks again after its manifest is there and removes the larger ids. The smallest is never
removed, and whoever puts a manifest later than another sees both, so that no larger id is left for long.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec

from profiler.errors import RemoteDenied, RemoteFailed, StoreNotWritable
from profiler.store.file_names import own_name
from profiler.store.remote.objects import ObjectPlace
from profiler.store.remote.places import Location
from profiler.store.runs.commit import Staging, storage_error
from profiler.store.runs.manifest import MANIFEST_FILE, Manifest, RunId, encode_manifest, read_manifest

_AT_ONCE = 8


class UploadStaging(Staging):
    """Prepares runs in `place.local` and commits them to the place; `list_ids` returns the runs that are there already."""

    def __init__(self, place: ObjectPlace, list_ids: Callable[[], Iterable[RunId]]) -> None:
        super().__init__(place.local)
        self._place = place
        self._list_ids = list_ids
        self._known_before: frozenset[str] | None = None

    def commit(self, folder: Path, run_id: str) -> Location | None:
        run = RunId.parse(run_id)
        assert run is not None, run_id
        try:
            committed = _upload(self._place, folder, run) if not self._is_known(run) else None
        except (RemoteDenied, RemoteFailed) as error:  # the next run would fail alike
            raise StoreNotWritable(error.message, details=error.details, remedy=error.remedy) from error
        except OSError as error:
            raise storage_error(error, self.root) from error
        self.discard(folder)
        return committed

    def _is_known(self, run: RunId) -> bool:
        """Packs are looked through once: a run that was packed since is found again by its time and hash."""
        if self._known_before is None:
            self._known_before = frozenset(one.hash for one in self._list_ids())
        return run.hash in self._known_before


def _upload(place: ObjectPlace, folder: Path, run: RunId) -> Location | None:
    """None where a run of the same report exists already."""
    if _of_the_same(place, run):
        return None
    files = [path for path in folder.iterdir() if path.name != MANIFEST_FILE]
    with ThreadPoolExecutor(_AT_ONCE) as threads:
        names = dict(threads.map(lambda path: (path.name, _put(place, run, path)), files))
    manifest = encode_manifest(_renamed(read_manifest(folder), names))
    created = place.put_new(f"{run}/{MANIFEST_FILE}", manifest)
    first, *others = sorted(map(str, _of_the_same(place, run))) or [str(run)]
    for other in others:
        remove_run(place, other)
    return place.shown(str(run)) if created and first == str(run) else None


def remove_run(place: ObjectPlace, name: str) -> None:
    """Its manifest first: what is half removed is not visible."""
    place.remove([f"{name}/{MANIFEST_FILE}"])
    place.remove(place.listing(f"{name}/"))


def _of_the_same(place: ObjectPlace, run: RunId) -> list[RunId]:
    """Visible runs of the same report; only names that begin with its time are listed."""
    names = [name.removesuffix(f"/{MANIFEST_FILE}") for name in place.listing(f"{run.time}-")]
    return [one for name in names if (one := RunId.parse(name)) and one.hash == run.hash]


def _put(place: ObjectPlace, run: RunId, path: Path) -> str:
    """The name it is under: its own, or one by its content where that is taken by something else."""
    if place.put_new_file(f"{run}/{path.name}", path):
        return path.name
    ours, theirs = (_sha256(one) for one in (path, place.file(f"{run}/{path.name}")))
    if ours == theirs:
        return path.name
    name = own_name(path.name, ours)
    place.put_new_file(f"{run}/{name}", path)
    return name


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _renamed(manifest: Manifest, names: dict[str, str]) -> Manifest:
    tables = {
        table: msgspec.structs.replace(stored, file=names[stored.file])
        for table, stored in manifest.tables.items()
    }
    reports = [
        report if report.file is None else msgspec.structs.replace(report, file=names[report.file])
        for report in manifest.reports
    ]
    return msgspec.structs.replace(manifest, tables=tables, reports=reports)
