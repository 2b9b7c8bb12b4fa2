"""One report into one folder: six Parquet files, the manifest, and a copy of the report.

Runs inside a worker of `sandbox.py`. The folder is not a run until `staging.py` commits it.
"""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from importlib.metadata import version

from profiler.errors import ReportDamaged
from profiler.store.controls import derive_controls
from profiler.store.identity import (
    COMPRESSED_SUFFIX,
    ReportFile,
    copy_report,
    identify_report,
    pack_report,
)
from profiler.store.manifest import (
    KernelCount,
    Manifest,
    RunId,
    StoredReport,
    StoredTable,
    prof_version,
    write_manifest,
)
from profiler.store.report import Decoded, decode_report
from profiler.store.request import AlreadyStored, Request
from profiler.store.schema import SCHEMA_VERSION
from profiler.store.staging import flush, storage_error, write_table


def extract_report(request: Request) -> Manifest | AlreadyStored:
    """Fill `request.folder`; every file is flushed to disk before this returns."""
    try:
        request.folder.mkdir(parents=True, exist_ok=True)
        return _extract(request)
    except OSError as error:
        raise storage_error(error, request.folder.parent) from error


def _extract(request: Request) -> Manifest | AlreadyStored:
    file = identify_report(request.report, scratch=request.folder)
    run_id = RunId.make(file.envelope.created, request.run_name(), file.sha256)
    if run_id.hash in request.stored_hashes:
        return AlreadyStored(file.sha256)
    try:
        decoded = decode_report(file.plain, str(run_id), file.envelope.results, str(file.path))
        tables = {name: write_table(request.folder, name, table) for name, table in decoded.tables.items()}
        report = _keep_report(request, file)
    finally:
        file.check_unchanged()  # a change explains whatever else went wrong
    if file.plain != file.path:
        file.plain.unlink()
    manifest = _manifest(request, file, run_id, decoded, tables, report)
    flush(write_manifest(manifest, request.folder))
    return manifest


def _keep_report(request: Request, file: ReportFile) -> StoredReport:
    if not request.copy:
        return StoredReport(file.sha256, file.bytes, reference=str(request.report.absolute()))
    packed = request.folder / f"report{COMPRESSED_SUFFIX}"
    if file.plain != file.path:
        copy_report(file.path, packed)
    else:
        pack_report(file.plain, packed)
    flush(packed)
    return StoredReport(file.sha256, file.bytes, file=packed.name)


def _manifest(
    request: Request,
    file: ReportFile,
    run_id: RunId,
    decoded: Decoded,
    tables: dict[str, StoredTable],
    report: StoredReport,
) -> Manifest:
    launches = decoded.tables["launches"]
    kernels = Counter(launches.column("kernel").to_pylist())
    gpus = sorted({name for name in launches.column("gpu").to_pylist() if name})
    envelope = file.envelope
    controls = derive_controls(envelope.command_line, envelope.ncu_version)
    recorded = envelope.created or datetime.fromtimestamp(0, UTC)
    if not tables["launches"].rows:
        raise ReportDamaged(f"{request.report}: damaged: no launch can be read")
    return Manifest(
        schema_version=SCHEMA_VERSION,
        run_id=str(run_id),
        name=run_id.name,
        origin="ingested",
        recorded=recorded.isoformat().replace("+00:00", "Z"),
        report=report,
        kernels=[KernelCount(name, count) for name, count in kernels.items()],
        tables=tables,
        ladder=request.ladder,
        kernel=request.kernel,
        gpus=gpus or list(envelope.devices),
        cuda_version=envelope.cuda_version,
        ncu_version=envelope.ncu_version,
        reader_version=version("ncu-report"),
        prof_version=prof_version(),
        program=envelope.program,
        command_line=envelope.command_line,
        sections=decoded.sections,
        clock_control=controls.clock,
        cache_control=controls.cache,
        replay_mode=controls.replay,
    )
