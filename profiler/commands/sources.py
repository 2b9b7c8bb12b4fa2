"""What a person may name on the command line: a rung, a run, or a report file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from profiler.commands.ladders import ladder_name
from profiler.commands.options import Settings

if TYPE_CHECKING:
    from profiler.store.runs import Run, RunStore


def open_sources(references: list[str], settings: Settings, *, timed: bool = False) -> list[Run]:
    """Every reference as a run; report files are read side by side. Timings alone will do if `timed`."""
    from profiler.errors import RunNotProfiled
    from profiler.store.runs import RunStore, open_reports

    store: RunStore | None = None  # reports need none
    reports = [Path(reference) for reference in references if is_report_path(reference)]
    read = iter(open_reports(reports) if reports else [])
    runs = []
    for reference in references:
        if is_report_path(reference):
            runs.append(next(read))
        else:
            run = _run_at(reference)
            if run is None:
                store = store or RunStore(settings.runs_to_read)
                run = _run_named(reference, store, settings)
            if not run.manifest.is_profiled and not timed:
                raise RunNotProfiled(
                    f"{reference}: run {run.manifest.run_id} holds timings alone, no profile"
                )
            run.verify_reports()
            runs.append(run)
    return runs


def _run_named(reference: str, store: RunStore, settings: Settings) -> Run:
    """A number in a ladder that neither a run nor a file knows is the ladder's mistake, not the number's."""
    from profiler.catalog.ladder import find_ladder
    from profiler.errors import RunNotFound

    ladder = ladder_name(settings)
    try:
        return store.find(reference, ladder)
    except RunNotFound:
        if reference.isdecimal() and settings.ladder_given and not store.knows_ladder(ladder):
            find_ladder(settings.ladder, Path.cwd())
        raise


def is_report_path(reference: str) -> bool:
    """A file name of a report, or anything on disk that is not a run's folder."""
    path = Path(reference)
    if reference.endswith((".ncu-rep", ".ncu-rep.zst")):
        return True
    if reference.isdecimal() or _run_at(reference) is not None:
        return False
    return "/" in reference or path.is_file()


def _run_at(reference: str) -> Run | None:
    """`elsewhere/runs/<id>/` works as well as `<id>`, also where it is in a pack or at a URL."""
    from profiler.store.manifest import RunId
    from profiler.store.remote_files import is_url
    from profiler.store.runs import RunStore

    if is_url(reference):
        location, _, name = reference.rstrip("/").rpartition("/")
        run_id = RunId.parse(name)
        return RunStore(location).open(run_id) if run_id else None
    folder = Path(reference).resolve()
    run_id = RunId.parse(folder.name)
    if run_id is None or ("/" not in reference and not folder.exists()):
        return None
    store = RunStore(folder.parent)
    return store.open(run_id) if (folder / "run.json").exists() or run_id in store.ids() else None
