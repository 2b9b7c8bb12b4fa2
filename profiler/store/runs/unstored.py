"""Opens reports that are not stored, as runs in memory. A report that was read once is not read again.

Their tables are kept in the user's cache folder under everything that they depend on: the report's hash, its name, the version of
NVIDIA's reader, and the code that reads. A kept run is checked like a stored one, by the hashes in its sealed manifest; where
anything does not fit, the report is read again.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec.structs import replace

from profiler.errors import ReportError, RunUnusable
from profiler.machine import available_cores
from profiler.store.cache import Cache, hash_of_code, open_cache
from profiler.store.reports.identity import check_beginning, sha256_of_report, stamp_of
from profiler.store.reports.request import AlreadyStored, Request, stem_of
from profiler.store.runs.manifest import Manifest, StoredReport, read_manifest
from profiler.store.runs.run import Run
from profiler.store.scratch import scratch_folder
from profiler.store.tables.schema import SCHEMA_VERSION, TABLES

_LATEST_S = 0.25
_MOST_HELD = 8
_MOST_BYTES = 1 << 29

_Stamp = tuple[int, ...]
_held: dict[tuple[str, _Stamp], Run] = {}  # what this process has opened, for servers and notebooks


def open_report(path: Path, *, fresh: bool = False) -> Run:
    """Returns a report as a run in memory; where `fresh`, a reader opens it, even if it is kept or does not begin as a report does."""
    (run,) = open_reports([path], fresh=fresh)
    return run


def open_reports(
    paths: Sequence[Path], progress: Callable[[str], None] | None = None, *, fresh: bool = False
) -> list[Run]:
    """Returns several reports as runs, and reads those that are not kept at once, each in a process of its own.

    `progress` receives a line about how far it is a few times a second, and an empty one at the end.
    """
    if not fresh:
        for path in paths:
            check_beginning(path)
    # Before any is read, since others may write them meanwhile.
    stamps = {path: _stamp(path) for path in paths}
    runs = {}
    if not fresh:
        found = {path: _held_run(path, stamp) or _kept_run(path) for path, stamp in stamps.items()}
        runs = {path: run for path, run in found.items() if run}
    new = [path for path in dict.fromkeys(paths) if path not in runs]
    if new:
        runs |= dict(zip(new, _read_reports(new, progress or (lambda _: None)), strict=True))
    for path, run in runs.items():
        _hold(path, stamps[path], run)
    return [runs[path] for path in paths]


# In memory


def _held_run(path: Path, stamp: _Stamp | None) -> Run | None:
    return _held.get((str(path), stamp)) if stamp and not _is_off() else None


def _hold(path: Path, stamp: _Stamp | None, run: Run) -> None:
    """Holds what was read of a file that had this stamp before, unless it has changed since: nobody knows which content was read."""
    if stamp and stamp == _stamp(path):
        _held.pop((str(path), stamp), None)
        _held[str(path), stamp] = run
    while len(_held) > _MOST_HELD:
        del _held[next(iter(_held))]


def _stamp(path: Path) -> _Stamp | None:
    """Returns the file's stamp; None if there is no file."""
    with suppress(OSError, ValueError):
        return stamp_of(path.stat())
    return None


# In the cache folder


def _cache() -> Cache:
    return open_cache("reports", _MOST_BYTES)


def _kept_run(path: Path) -> Run | None:
    """Returns what was kept of a report with this content and name; None if nothing was, or if it is not whole."""
    if _is_off():
        return None
    try:
        sha256 = sha256_of_report(path)
    except (ReportError, OSError):  # reading the report says what is wrong with it
        return None
    kept = _cache().get(_key(sha256, path))
    if kept is None:
        return None
    with suppress(RunUnusable, msgspec.DecodeError, OSError), scratch_folder() as folder:
        for name, data in msgspec.msgpack.decode(kept, type=dict[str, bytes]).items():
            (folder / Path(name).name).write_bytes(data)
        manifest = read_manifest(folder)
        if [report.sha256 for report in manifest.reports] == [sha256]:
            return _in_memory(path, folder, manifest)
    return None


def _keep(path: Path, folder: Path, manifest: Manifest) -> None:
    if not _is_off():
        files = {file.name: file.read_bytes() for file in folder.iterdir()}
        _cache().put(_key(manifest.reports[0].sha256, path), msgspec.msgpack.encode(files))


def _is_off() -> bool:
    return bool(os.environ.get("PROF_NO_CACHE"))


def _key(sha256: str, path: Path) -> str:
    """Returns the name under which a report with this hash is kept: the hash of all that its tables depend on."""
    # Takes as long to import as all of this room, and runs do not need it.
    from importlib.metadata import version

    code = hash_of_code(*(Path(__file__).parent.parent / room for room in ("reports", "tables")))
    basis = (sha256, stem_of(path.name), version("ncu-report"), str(SCHEMA_VERSION), code)
    return hashlib.sha256("\0".join(basis).encode(errors="surrogatepass")).hexdigest()


def _in_memory(path: Path, folder: Path, manifest: Manifest) -> Run:
    held = Run(folder, manifest)
    tables = {name: held.table(name) for name in TABLES}
    (report,) = manifest.reports
    here = StoredReport(report.sha256, report.bytes, reference=str(path.absolute()))
    return Run(path, replace(manifest, reports=[here]), stored=False, _tables=tables)


# From the reports themselves


def _read_reports(paths: Sequence[Path], progress: Callable[[str], None]) -> list[Run]:
    from concurrent.futures import wait

    from profiler.store.reports.sandbox import Sandbox, outcome

    with scratch_folder() as scratch:
        folders = [scratch / str(index) for index in range(len(paths))]
        counts = [scratch / f"{index}.count" for index in range(len(paths))]
        with Sandbox(workers=min(len(paths), available_cores())) as sandbox:
            futures = [
                sandbox.submit(Request((path,), folder, copy=False, count=count))
                for path, folder, count in zip(paths, folders, counts, strict=True)
            ]
            try:
                # For all of them, also after a failure: a reader that is stopped while it starts prints an error.
                while wait(futures, timeout=_LATEST_S).not_done:
                    progress(_progress_line(paths, counts))
            finally:
                progress("")
        manifests = [outcome(future, path) for future, path in zip(futures, paths, strict=True)]
        runs = []
        for path, folder, manifest in zip(paths, folders, manifests, strict=True):
            assert not isinstance(manifest, AlreadyStored)
            runs.append(_in_memory(path, folder, manifest))
            _keep(path, folder, manifest)
        return runs


def _progress_line(paths: Sequence[Path], counts: Sequence[Path]) -> str:
    done = results = 0
    for count in counts:
        try:
            one, of = count.read_text().split()
        except (OSError, ValueError):  # it has not begun, or is being written
            continue
        done, results = done + int(one), results + int(of)
    what = paths[0].name if len(paths) == 1 else f"{len(paths)} reports"
    return f"reading {done} of {results} launches of {what}" if results else f"reading {what}"
