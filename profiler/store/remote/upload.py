"""Commits runs to an object store, which can neither rename nor lock: each run whole, and once.

A run is prepared in a folder of this machine, and its files are uploaded under its own prefix. No file is
ever overwritten: when a name is taken by other bytes (of an upload that was killed, or that another version
of prof makes at this moment), the file gets a name of its own, which the manifest records. The manifest is
uploaded last, by a request that fails when there is one already. It makes the run visible, so a visible run
is whole.

Two clients may commit the same report at once, even under two names. The two ids then share their time and
hash, and every reader sees only the smaller one (`RunStore.ids`), whichever client was first or was killed.
After its upload each client lists the runs again and removes the larger ids. The smallest is never removed,
and the client that uploads last sees all of them, so no larger id stays for long.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec

from profiler.errors import IdTaken, RemoteDenied, RemoteFailed, StoreNotWritable
from profiler.store.remote.objects import ObjectPlace
from profiler.store.remote.places import Location
from profiler.store.runs.commit import Staging, names_by_hash, storage_error
from profiler.store.runs.file_names import own_name
from profiler.store.runs.index import RunIndex
from profiler.store.runs.manifest import (
    MANIFEST_FILE,
    Manifest,
    decode_manifest,
    encode_manifest,
    read_manifest,
)
from profiler.store.runs.run_id import RunId

_AT_ONCE = 8


class UploadStaging(Staging):
    """Prepares runs in `place.local` and commits them to the place; `list_ids` returns the runs that are
    there already.
    """

    def __init__(self, place: ObjectPlace, list_ids: Callable[[], Iterable[RunId]]) -> None:
        super().__init__(place.local)
        self._place = place
        self._index = RunIndex(place)
        self._list_ids = list_ids
        self._known_before: dict[str, list[str]] | None = None

    def commit(self, folder: Path, run_id: str) -> Location | None:
        run = RunId.parse(run_id)
        assert run is not None, run_id
        try:
            committed = _upload(self._place, folder, run) if not self._is_known(run, folder) else None
        except (RemoteDenied, RemoteFailed) as error:  # the next run would fail alike
            raise StoreNotWritable(error.message, details=error.details, remedy=error.remedy) from error
        except OSError as error:
            raise storage_error(error, self.root) from error
        self.discard(folder)
        return committed

    def _is_known(self, run: RunId, folder: Path) -> bool:
        """Return whether there is a run of the same report.

        Lists all runs once; `_upload` finds those that were added since.
        """
        if self._known_before is None:
            self._known_before = names_by_hash(map(str, self._list_ids()))
        known = self._known_before.get(run.hash)
        return known is not None and self._index.holds(read_manifest(folder).sha256, known)


def _upload(place: ObjectPlace, folder: Path, run: RunId) -> Location | None:
    """Upload a run and return where it is; None when there is a run of the same report already."""
    manifest = read_manifest(folder)
    if _of_the_same(place, run, manifest.sha256):
        return None
    files = [path for path in folder.iterdir() if path.name != MANIFEST_FILE]
    with ThreadPoolExecutor(_AT_ONCE) as threads:
        names = dict(threads.map(lambda path: (path.name, _put(place, run, path)), files))
    created = place.put_new(f"{run}/{MANIFEST_FILE}", encode_manifest(_renamed(manifest, names)))
    try:
        first, *others = sorted(_of_the_same(place, run, manifest.sha256)) or [str(run)]
    except IdTaken:  # by a client that uploaded another report meanwhile
        if created:
            remove_run(place, str(run))
        raise
    for other in others:
        remove_run(place, other)
    return place.shown(str(run)) if created and first == str(run) else None


def remove_run(place: ObjectPlace, name: str) -> None:
    """Remove a run, its manifest first, so that a half-removed run is not visible."""
    place.remove([f"{name}/{MANIFEST_FILE}"])
    place.remove(place.listing(f"{name}/"))


def _of_the_same(place: ObjectPlace, run: RunId, sha256: str) -> list[str]:
    """The visible runs of the same report; IdTaken when there is one of another report whose hash begins alike.

    Lists only names that begin with the run's time.
    """
    names = [name.removesuffix(f"/{MANIFEST_FILE}") for name in place.listing(f"{run.time}-")]
    alike = [name for name in names if (one := RunId.parse(name)) and one.hash == run.hash]
    files = [f"{name}/{MANIFEST_FILE}" for name in alike]
    for file, data in zip(files, place.read_all([(file, None, None) for file in files]), strict=True):
        if isinstance(data, bytes) and decode_manifest(data, place.shown(file)).sha256 != sha256:
            raise IdTaken(f"{place.shown(file)}: another report whose SHA-256 begins with {run.hash}")
    return alike


def _put(place: ObjectPlace, run: RunId, path: Path) -> str:
    """Upload a file and return its name, which is made from its content when its own is taken by something else."""
    if place.put_new_file(f"{run}/{path.name}", path):
        return path.name
    ours, theirs = (_sha256(one) for one in (path, place.file(f"{run}/{path.name}")))
    if ours == theirs:
        return path.name
    name = own_name(path.name, ours)
    if not place.put_new_file(f"{run}/{name}", path) and _sha256(place.file(f"{run}/{name}")) != ours:
        raise StoreNotWritable(f"{place.shown(f'{run}/{name}')}: is there already with other content")
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
