"""Many reports into runs: found, read in parallel, committed one by one.

Yields what became of each report as it happens; nothing here prints.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator
from concurrent.futures import Future, as_completed
from dataclasses import dataclass, replace
from pathlib import Path

from profiler.errors import DiskFull, ProfError, StoredUnderAnotherName, StoreNotWritable
from profiler.store.identity import COMPRESSED_SUFFIX, REPORT_SUFFIX
from profiler.store.manifest import RunId, path_name
from profiler.store.request import AlreadyStored, Request
from profiler.store.runs import RunStore
from profiler.store.sandbox import Extracted, Sandbox, outcome
from profiler.store.staging import Staging


@dataclass(frozen=True)
class Options:
    name: str | None = None
    ladder: str | None = None
    kernel: int | None = None
    copy: bool = True
    jobs: int | None = None
    timeout_s: float | None = None


@dataclass(frozen=True)
class Ingested:
    """`status` is stored, known (a run of the same report exists) or failed."""

    report: Path
    status: str
    run_id: str | None = None
    launches: int = 0
    error: ProfError | None = None


def find_reports(places: list[str]) -> list[Path]:
    """Files as given, folders searched to the bottom, patterns expanded; each file once.

    What cannot be looked at stays in the list: reading it will say why.
    """
    found: dict[str, Path] = {}
    for place in places:
        for path in _expand(place):
            found.setdefault(os.path.realpath(path), path)
    return list(found.values())


def ingest_reports(reports: list[Path], store: RunStore, options: Options) -> Iterator[Ingested]:
    """Store every report; one bad report never stops the others, a full disk does."""
    hashes = frozenset(run_id.hash for run_id in store.ids())
    with (
        Staging(store.root) as staging,
        Sandbox(options.jobs, options.timeout_s) as sandbox,
    ):
        request = Request(
            (),
            Path(),
            name=options.name,
            ladder=options.ladder,
            kernel=options.kernel,
            copy=options.copy,
            stored_hashes=hashes,
        )
        pending: dict[Future[Extracted], Request] = {}
        for report in reports:
            one = replace(request, reports=(report,), folder=staging.folder())
            pending[sandbox.submit(one)] = one
        for future in as_completed(pending):
            one = pending[future]
            try:
                yield _commit(outcome(future, one.report), one, staging, store)
            except (DiskFull, StoreNotWritable):
                raise
            except ProfError as error:
                staging.discard(one.folder)
                yield Ingested(one.report, "failed", error=error)


def _commit(extracted: Extracted, request: Request, staging: Staging, store: RunStore) -> Ingested:
    if isinstance(extracted, AlreadyStored):
        staging.discard(request.folder)
        return _known(request, extracted.sha256, store)
    if staging.commit(request.folder, extracted.run_id) is None:
        return _known(request, extracted.sha256, store)
    return Ingested(request.report, "stored", extracted.run_id, extracted.launches)


def _known(request: Request, sha256: str, store: RunStore) -> Ingested:
    report = request.report
    run = store.with_hash(sha256)
    if run is None:
        raise StoreNotWritable(f"{store.root}: the run of {report} vanished while it was looked up")
    run.verify()
    stored, wanted = run.manifest.name, path_name(request.run_name())
    if request.is_named and stored != wanted:
        raise StoredUnderAnotherName(f"{report}: stored already, as '{stored}' and not as '{wanted}'")
    return Ingested(report, "known", run.manifest.run_id, run.manifest.launches)


def _expand(place: str) -> list[Path]:
    if os.path.isdir(place):
        return sorted(_reports_below(Path(place)))
    matches = [] if os.path.lexists(place) else sorted(glob.glob(place, recursive=True))
    if not matches:
        return [Path(place)]
    return [report for match in matches for report in _expand(match)]


def _reports_below(folder: Path) -> Iterator[Path]:
    unreadable: list[OSError] = []
    for parent, folders, files in os.walk(folder, onerror=unreadable.append):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in files:
            inside_a_run = RunId.parse(Path(parent).name) is not None
            if name.endswith((REPORT_SUFFIX, COMPRESSED_SUFFIX)) and not inside_a_run:
                yield Path(parent) / name
    yield from (Path(error.filename) for error in unreadable)
