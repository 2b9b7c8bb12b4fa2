"""Extracts the reports of one run into a folder: six Parquet files, the manifest, and a copy of each report.

This runs in a reader of `sandbox.py`. The folder becomes a run when `runs/commit.py` commits it.
"""

from __future__ import annotations

import itertools
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import asdict

from profiler.errors import KernelNotFound, MetricsMissing, ReportDamaged, ReportError
from profiler.store.disk import flush, storage_error
from profiler.store.reports.contained_reader import decode_contained
from profiler.store.reports.envelope import Envelope
from profiler.store.reports.identity import ReportFile, copy_report, identify_report, pack_report
from profiler.store.reports.ncu_command import derive_controls
from profiler.store.reports.nvidia_reader import DecodedReport
from profiler.store.reports.request import AlreadyStored, Request
from profiler.store.runs.commit import write_table
from profiler.store.runs.file_names import report_file
from profiler.store.runs.manifest import (
    KernelCount,
    Manifest,
    StoredReport,
    prof_version,
    write_manifest,
)
from profiler.store.runs.run_id import RunId, content_sha256
from profiler.store.tables.columns import TableBuilder, labels_of
from profiler.store.tables.contradictions import find_contradictions
from profiler.store.tables.launch_choice import rows_of_launches, there_are
from profiler.store.tables.schema import SCHEMA_VERSION
from profiler.text import shortened

if TYPE_CHECKING:
    import pyarrow as pa

_SCRATCH = "unpacked-"
_MOST_NAMES, _NAME_WIDTH = 20, 100


def extract_report(request: Request) -> Manifest | AlreadyStored:
    """Fills `request.folder`, and flushes every file to the disk before returning."""
    try:
        request.folder.mkdir(parents=True, exist_ok=True)
        return _extract(request)
    except OSError as error:
        raise storage_error(error, request.folder.parent) from error
    except ReportError as error:
        raise request.about_original(error) from error


def _extract(request: Request) -> Manifest | AlreadyStored:
    for left in request.folder.glob(f"{_SCRATCH}*"):  # a reader that crashed left it behind
        shutil.rmtree(left, ignore_errors=True)
    with tempfile.TemporaryDirectory(dir=request.folder, prefix=_SCRATCH) as scratch:
        files = [identify_report(path, Path(tempfile.mkdtemp(dir=scratch))) for path in request.reports]
        return _extract_files(request, files)


def _extract_files(request: Request, files: Sequence[ReportFile]) -> Manifest | AlreadyStored:
    hashes = [file.sha256 for file in files]
    key = request.collected.key if request.collected else str(request.choice)
    sha256 = content_sha256([key, *hashes] if key else hashes)
    run_id = RunId.make(files[0].envelope.created, request.run_name(), sha256)
    if run_id.hash in request.stored_hashes:
        return AlreadyStored(sha256)
    try:
        decoded = decode_contained(files, str(run_id), request.omitted, _counter(request, files))
        decoded.tables["timings"] = _timings(request, str(run_id))
        _require_consistent(files, decoded)
        missing = _missing_metrics(request, decoded)
        if str(request.choice):
            _keep_chosen(request, decoded)
        tables = {name: write_table(request.folder, name, table) for name, table in decoded.tables.items()}
        reports = [_keep_report(request, file, process) for process, file in enumerate(files)]
    finally:
        for file in files:
            file.check_unchanged()  # a file that changed meanwhile explains every other error
    manifest = _manifest(
        request,
        files[0].envelope,
        run_id,
        decoded,
        tables=tables,
        reports=reports,
        content_sha256=sha256 if sha256 != files[0].sha256 else None,
        missing_metrics=missing,
    )
    write_manifest(manifest, request.folder)
    return manifest


def _keep_chosen(request: Request, decoded: DecodedReport) -> None:
    """Keeps the launches that were asked for alone."""
    table = decoded.tables["launches"]
    launches = request.choice.launches(table)
    if not launches:
        names = dict.fromkeys(labels_of(table, "kernel"))
        numbers = table.column("launch").to_pylist()
        raise KernelNotFound(
            f"{request.report}: holds no {request.choice}",
            details=[f"  {shortened(name or '', _NAME_WIDTH)}" for name in list(names)[:_MOST_NAMES]],
            remedy=None if request.choice.numbers is None else there_are(numbers),
        )
    decoded.tables.update({name: rows_of_launches(one, launches) for name, one in decoded.tables.items()})


def _counter(request: Request, files: Sequence[ReportFile]) -> Callable[[], None]:
    """Returns a function that counts one launch more, in the file that the request names."""
    counted = itertools.count(1)
    results = sum(file.envelope.results for file in files)

    def count() -> None:
        done = next(counted)
        if request.count is not None:
            request.count.write_text(f"{done} {results}")

    return count


def _require_consistent(files: Sequence[ReportFile], decoded: DecodedReport) -> None:
    """Raises ReportDamaged when a launch contradicts itself."""
    launches = decoded.tables["launches"].select(["launch", "process"]).to_pylist()
    paths = dict(enumerate(file.path for file in files))
    for launch, how in find_contradictions(decoded.tables, files[0].envelope.ncu_version):
        process = next((row["process"] for row in launches if row["launch"] == launch), 0)
        raise ReportDamaged(f"{paths.get(process, files[0].path)}: damaged: in launch {launch}, {how}")


def _timings(request: Request, run_id: str) -> pa.Table:
    timings = TableBuilder("timings", run_id)
    for timing in request.collected.timings if request.collected else ():
        timings.append(**asdict(timing))
    return timings.finish()


def _missing_metrics(request: Request, decoded: DecodedReport) -> list[str]:
    """Returns the metrics asked for that no launch has, since ncu ignores unknown names. Raises for required ones."""
    collected = request.collected
    if collected is None:
        return []
    metrics = decoded.tables["metrics"]
    values = metrics.column("value").to_pylist()
    rows = zip(labels_of(metrics, "metric"), values, labels_of(metrics, "text"), strict=True)
    recorded = {name for name, value, text in rows if value is not None or text is not None}
    missing = [name for name in collected.metrics if name not in recorded]
    if refused := [name for name in missing if name in collected.required]:
        raise MetricsMissing(f"{request.run_name()}: ncu recorded nothing for {', '.join(refused)}")
    return missing


def _keep_report(request: Request, file: ReportFile, process: int) -> StoredReport:
    if not request.copy:
        return StoredReport(file.sha256, file.bytes, reference=request.reference or str(file.path.absolute()))
    packed = request.folder / report_file(process, len(request.reports))
    if file.plain != file.path:
        copy_report(file.path, packed)
    else:
        pack_report(file.plain, packed)
    flush(packed)
    return StoredReport(file.sha256, file.bytes, file=packed.name)


def _manifest(
    request: Request, envelope: Envelope, run_id: RunId, decoded: DecodedReport, **stored: Any
) -> Manifest:
    """Returns the manifest; `stored` has those of its fields that say what is in the folder."""
    launches = decoded.tables["launches"]
    kernels = Counter(launches.column("kernel").to_pylist())
    gpus = sorted({name for name in launches.column("gpu").to_pylist() if name})
    controls = derive_controls(envelope.command_line, envelope.ncu_version)
    recorded = envelope.created or datetime.fromtimestamp(0, UTC)
    if not launches.num_rows:
        raise ReportDamaged(f"{request.report}: damaged: no launch can be read")
    return Manifest(
        schema_version=SCHEMA_VERSION,
        run_id=str(run_id),
        name=run_id.name,
        recorded=recorded.isoformat().replace("+00:00", "Z"),
        kernels=[KernelCount(name, count) for name, count in kernels.items()],
        ladder=request.ladder,
        kernel=request.kernel,
        gpus=gpus or list(envelope.devices),
        cuda_version=envelope.cuda_version,
        ncu_version=envelope.ncu_version,
        reader_version=version("ncu-report"),
        prof_version=prof_version(),
        command_line=envelope.command_line,
        sections=decoded.sections,
        unread=str(request.omitted),
        part=str(request.choice),
        clock_control=controls.clock,
        cache_control=controls.cache,
        replay_mode=controls.replay,
        **_origin(request, envelope),
        **stored,
    )


def _origin(request: Request, envelope: Envelope) -> dict[str, Any]:
    """Returns the fields of the manifest that say how the report came about; of an ingested one, little is known."""
    if (collected := request.collected) is None:
        return {"origin": "ingested", "program": envelope.program}
    return {
        "origin": "collected",
        "program": collected.program or envelope.program,
        "workload": collected.workload,
        "preset": collected.preset,
        "metrics": list(collected.metrics),
        "provenance": collected.provenance,
        "collection": collected.key,
    }
