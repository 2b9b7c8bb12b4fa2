"""A run's reports as plain files again, for whoever wants them in the Nsight Compute UI."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from profiler.errors import ReportNotFound, StoreNotWritable
from profiler.store.reports.identity import REPORT_SUFFIX, unpack_report
from profiler.store.runs.commit import storage_error
from profiler.store.runs.run_store import Run


def export_reports(run: Run, folder: Path, *, overwrite: bool = False) -> Iterator[Path]:
    """Each as it is written, under the run's name; numbered where several processes made one each.

    The run was verified when it was opened, so what comes out is what was recorded. A file is written
    aside and renamed: a name never holds half a report.
    """
    reports = run.manifest.reports
    if not run.stored:
        raise ReportNotFound(f"{run.path}: a report file, not a run: it can be opened as it is", remedy="")
    for process, report in enumerate(reports):
        number = f"-{process}" if len(reports) > 1 else ""
        target = folder / f"{run.manifest.name}{number}{REPORT_SUFFIX}"
        if target.exists() and not overwrite:
            raise StoreNotWritable(
                f"{target}: is there already",
                remedy="Overwrite it with --force, or choose another folder with -o.",
            )
        aside = target.with_name(f".{target.name}.part")
        try:
            folder.mkdir(parents=True, exist_ok=True)
            unpack_report(run.report_path(report), aside)
            os.replace(aside, target)
        except OSError as error:
            raise storage_error(error, target) from error
        finally:
            with suppress(OSError):
                aside.unlink()
        yield target
