"""What a person may name on the command line: a rung, a run, or a report file."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from profiler.commands.ladders import ladder_name
from profiler.commands.options import Settings
from profiler.commands.size_advice import no_choice, not_profiled
from profiler.commands.sizes import find_sized, is_choice

if TYPE_CHECKING:
    from profiler.store.remote.places import Location
    from profiler.store.runs.run_store import Run, RunStore

_MOST_ALIKE = 200  # each is a manifest to read


def open_sources(
    references: list[str], settings: Settings, *, timed: bool = False, size: str | int | None = None
) -> list[Run]:
    """Every reference as a run; report files are read side by side. Timings alone will do if `timed`.

    Of the runs that a number or a name means, the newest, or the newest of this `size`.
    """
    from profiler.store.runs.run_store import open_reports

    if settings.reach is not None:
        for reference in references:
            settings.reach.check(reference)
    stored = cache(settings.open_runs)  # reports need none
    require_ladder(settings, stored)
    reports = [Path(one) for one in references if is_report_path(one, settings.open_runs)]
    read = iter(open_reports(reports) if reports else [])
    runs = []
    for reference in references:
        if is_report_path(reference, settings.open_runs):
            runs.append(next(read))
        else:
            run = _run_at(reference, settings.open_runs)
            if run is None:
                run = find_sized(reference, stored(), settings, size)
            if not run.manifest.is_profiled and not timed:
                raise not_profiled(reference, run, stored(), settings, size)
            run.verify_reports(left_elsewhere=settings.reach is None)
            runs.append(run)
    chosen = (is_choice(*named, settings) for named in zip(references, runs, strict=True))
    if size is not None and not any(chosen):
        raise no_choice(size, references)
    return runs


def meant_by(name: str | None, settings: Settings) -> Callable[[str], bool]:
    """Of all names of runs, or those that fit this one; where a ladder was asked for, of that one's kernels."""
    from profiler.store.runs.names import name_filter

    return name_filter(name, ladder_name(settings), of_ladder=settings.ladder_given)


def require_ladder(settings: Settings, stored: Callable[[], RunStore]) -> None:
    """One that was asked for, and that neither a file nor a run knows, is misspelt: also where no number needs it."""
    from profiler.catalog.ladders.ladder import CHOOSE_LADDER, find_ladder, is_path, known_ladders
    from profiler.errors import LadderNotFound

    if not settings.ladder_given:
        return
    try:
        find_ladder(settings.ladder, *settings.ladder_places)
    except LadderNotFound as error:
        if is_path(settings.ladder):
            raise
        if stored().knows_ladder(settings.ladder):
            return
        known = known_ladders(*settings.ladder_places)
        if others := [name for name in stored().ladders() if name not in known]:
            error.details = (f"  stored runs are {'also ' if known else ''}of {', '.join(others)}",)
            error.remedy = CHOOSE_LADDER
        raise


def other_workloads(run: Run, settings: Settings) -> list[str]:
    """Of the runs that share its name, newest first: whoever asks by name gets the newest alone."""
    from profiler.catalog.ladders.ladder import size_text
    from profiler.errors import RunDamaged

    store = settings.open_runs()
    alike = [run_id for run_id in store.ids() if run_id.name == run.manifest.name][-_MOST_ALIKE:]
    store.read_ahead(alike)
    found: dict[str, None] = {}
    for run_id in reversed(alike):
        with suppress(RunDamaged):  # another run's, which is not asked for
            found[size_text(store.open(run_id).manifest.workload or {})] = None
    return [size for size in found if size and size != size_text(run.manifest.workload or {})]


def is_report_path(reference: str, open_runs: Callable[[Location], RunStore] | None = None) -> bool:
    """A file name of a report, or anything on disk that is not a run's folder."""
    from profiler.errors import ReportNotFound
    from profiler.store.remote.files import is_url, public_url

    if is_url(reference):
        if _run_at(reference, open_runs) is not None:
            return False
        raise ReportNotFound(
            f"{public_url(reference)}: a report at a URL is not read where it lies",
            remedy="Store it first with `prof ingest` and its URL, then name the run.",
        )
    path = Path(reference)
    if reference.endswith((".ncu-rep", ".ncu-rep.zst")):
        return True
    if reference.isdecimal() or _run_at(reference, open_runs) is not None:
        return False
    return "/" in reference or path.is_file()


def _run_at(reference: str, open_runs: Callable[[Location], RunStore] | None = None) -> Run | None:
    """`elsewhere/runs/<id>/` works as well as `<id>`, also where it is in a pack or at a URL."""
    from profiler.store.remote.files import is_url
    from profiler.store.runs.run_id import RunId
    from profiler.store.runs.run_store import RunStore

    open_runs = open_runs or RunStore
    if is_url(reference):
        location, _, name = reference.rstrip("/").rpartition("/")
        run_id = RunId.parse(name)
        return open_runs(location).open(run_id) if run_id else None
    folder = Path(reference).resolve()
    run_id = RunId.parse(folder.name)
    if run_id is None or ("/" not in reference and not folder.exists()):
        return None
    store = open_runs(folder.parent)
    return store.open(run_id) if (folder / "run.json").exists() or run_id in store.ids() else None
