"""Commits runs to an object store, which can neither rename nor lock: each run whole, and once.

A run is prepared in a folder of this machine, and its files are uploaded under its own prefix. No file is
ever overwritten. An upload that was killed, or another version of prof, may have put other bytes under the same
name: then the file gets a name of its own, which the manifest records. The manifest is uploaded last, by a request
that fails when there is one already. It makes the run visible, so a visible run is whole.

Two clients may commit the same report at once, even under two names. So a client first claims the report, by
a file that only one can create, and removes its claim when the run is visible. The other waits, and finds the
run. If a claim stands longer than `CLAIM_S`, its client may have been killed, and the other takes it. A client that
was only slow looks for its claim before it uploads its manifest. So no run that was acknowledged is ever removed.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec

from profiler.errors import IdTaken, RemoteDenied, RemoteFailed, StoreNotWritable
from profiler.store.disk import sha256_of, storage_error
from profiler.store.remote.objects import ObjectPlace
from profiler.store.remote.places import Location
from profiler.store.runs.commit import Staging, names_by_hash
from profiler.store.runs.file_names import MANIFEST_FILE, own_name
from profiler.store.runs.index import RunIndex
from profiler.store.runs.manifest import Manifest, decode_manifest, encode_manifest, read_manifest
from profiler.store.runs.run_id import RunId

_AT_ONCE = 8
CLAIM_S = 60.0  # a client that has not finished an upload by then loses its claim to another one
CLAIMS_FOLDER = ".claims"
_POLL_S = 0.2


class UploadStaging(Staging):
    """Prepares runs in `place.local` and commits them to the place, which held the runs of these names a moment ago."""

    def __init__(self, place: ObjectPlace, names: Iterable[str]) -> None:
        super().__init__(place.local)
        self._place, self._index = place, RunIndex(place)
        self._names = names_by_hash(names)

    def commit(self, folder: Path, run_id: str) -> Location | None:
        run = RunId.parse(run_id)
        assert run is not None, run_id
        try:
            committed = _upload(self._place, folder, run) if not self._is_known(run, folder) else None
        except (RemoteDenied, RemoteFailed) as error:  # the next run would fail in the same way
            raise StoreNotWritable(error.message, details=error.details, remedy=error.remedy) from error
        except OSError as error:
            raise storage_error(error, self.root) from error
        self.discard(folder)
        return committed

    def _names_by_hash(self) -> dict[str, list[str]]:
        """Returns the names of the runs, which are listed once: `_upload` finds those that were added since."""
        return self._names


def _upload(place: ObjectPlace, folder: Path, run: RunId) -> Location | None:
    """Uploads a run and returns where it is; None when there is a run of the same report already."""
    manifest = read_manifest(folder)
    files = [path for path in folder.iterdir() if path.name != MANIFEST_FILE]
    while _claim(place, run, manifest.sha256):
        with ThreadPoolExecutor(_AT_ONCE) as threads:
            names = dict(threads.map(lambda path: (path.name, _put(place, run, path)), files))
        if _claimant(place, run) != str(run):  # it took too long: another client has the report now
            continue
        created = place.put_new(f"{run}/{MANIFEST_FILE}", encode_manifest(_renamed(manifest, names)))
        place.remove([_claim_file(run)])
        return place.shown(str(run)) if created else None
    return None


def _claim(place: ObjectPlace, run: RunId, sha256: str) -> bool:
    """Claims the report; returns False when there is a run of it, and raises IdTaken when there is one of another."""
    deadline, before = time.monotonic() + CLAIM_S, ""
    while not place.put_new(_claim_file(run), str(run).encode()):
        claimant = _claimant(place, run)
        # Its claimant was killed, or runs at this moment: only one of the two creates a manifest.
        if claimant == str(run):
            break
        if claimant != before:
            deadline, before = time.monotonic() + CLAIM_S, claimant
        if _of_the_same(place, run, sha256):
            return False
        if time.monotonic() > deadline:
            place.remove([_claim_file(run)])
        time.sleep(_POLL_S)
    try:
        taken = _of_the_same(place, run, sha256)
    except IdTaken:
        place.remove([_claim_file(run)])
        raise
    if taken:
        place.remove([_claim_file(run)])
    return not taken


def _claimant(place: ObjectPlace, run: RunId) -> str:
    try:
        return place.read(_claim_file(run)).decode(errors="replace")
    except FileNotFoundError:
        return ""


def _claim_file(run: RunId) -> str:
    return f"{CLAIMS_FOLDER}/{run.time}-{run.hash}"


def _of_the_same(place: ObjectPlace, run: RunId, sha256: str) -> list[str]:
    """Returns the visible runs of the same report; IdTaken when there is one of another report whose hash has the same start.

    Lists only names that begin with the run's time.
    """
    names = [name.removesuffix(f"/{MANIFEST_FILE}") for name in place.files(f"{run.time}-")]
    alike = [name for name in names if (one := RunId.parse(name)) and one.hash == run.hash]
    files = [f"{name}/{MANIFEST_FILE}" for name in alike]
    for file, data in zip(files, place.read_all([(file, None, None) for file in files]), strict=True):
        if isinstance(data, bytes) and decode_manifest(data, place.shown(file)).sha256 != sha256:
            raise IdTaken(f"{place.shown(file)}: another report whose SHA-256 begins with {run.hash}")
    return alike


def _put(place: ObjectPlace, run: RunId, path: Path) -> str:
    """Uploads a file and returns its name, which is made from its content when its own is taken by something else."""
    if place.put_new(f"{run}/{path.name}", path):
        return path.name
    ours, theirs = (sha256_of(one) for one in (path, place.file(f"{run}/{path.name}")))
    if ours == theirs:
        return path.name
    name = own_name(path.name, ours)
    if not place.put_new(f"{run}/{name}", path) and sha256_of(place.file(f"{run}/{name}")) != ours:
        raise StoreNotWritable(f"{place.shown(f'{run}/{name}')}: is there already with other content")
    return name


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
