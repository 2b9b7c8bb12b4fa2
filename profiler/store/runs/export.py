"""Writes a run's reports as plain `.ncu-rep` files, which the Nsight Compute UI opens."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from profiler.errors import ReportNotFound, StoreNotWritable
from profiler.store.disk import remove_left_parts, renamed_into_place, writing_to
from profiler.store.reports.identity import unpack_report
from profiler.store.runs.file_names import REPORT_SUFFIX
from profiler.store.runs.run import Run


def export_reports(run: Run, folder: Path, *, overwrite: bool) -> Iterator[Path]:
    """Writes each report under the run's name, numbered when there are several, and yields its path.

    The caller has verified the run, so the files are as recorded.
    """
    reports = run.manifest.reports
    if not run.stored:
        raise ReportNotFound(f"{run.path}: a report file, not a run: it can be opened as it is", remedy="")
    if run.reports_gone:
        gone = ", ".join(run.reports_gone)
        raise ReportNotFound(f"{run.label}: the stored report is missing ({gone})", remedy="")
    for process, report in enumerate(reports):
        number = f"-{process}" if len(reports) > 1 else ""
        target = folder / f"{run.manifest.name}{number}{REPORT_SUFFIX}"
        if target.exists() and not overwrite:
            raise StoreNotWritable(
                f"{target}: is there already",
                remedy="Write over it with `--overwrite`, or choose another folder with -o.",
            )
        with writing_to(target):
            folder.mkdir(parents=True, exist_ok=True)
            remove_left_parts(target)
            with renamed_into_place(target) as aside:
                unpack_report(run.report_path(report), aside)
        yield target
