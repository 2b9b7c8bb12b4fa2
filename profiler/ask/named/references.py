"""Opens the runs that a person named by a rung's number, a run's id or name, or a report's file."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from itertools import chain
from pathlib import Path

import msgspec

from profiler.analyse.recording.kernel_choice import nearest_words
from profiler.ask.named.code_file import open_code_file
from profiler.ask.named.gpus import is_on, no_such_gpu
from profiler.ask.named.ladders import ladder_meant, ladder_name, readable_ladder, require_ladder
from profiler.ask.named.newest_times import timed_runs, with_newest_times
from profiler.ask.named.reach import Reach
from profiler.ask.named.settings import Settings
from profiler.ask.named.sizes import find_run, is_choice, no_choice, not_profiled
from profiler.catalog.ladders.ladder import known_ladders
from profiler.errors import KernelNotFound, ProfError, ReportNotFound, RunNotFound
from profiler.measuring.tools.disassembly import is_code_path
from profiler.store.remote.files import is_url, public_url
from profiler.store.reports.near import REPORT_SUFFIXES, error_of_folder, files_in, near_files, what_is_near
from profiler.store.runs.manifest import KernelCount
from profiler.store.runs.names import name_filter
from profiler.store.runs.run_folder import holds_run
from profiler.store.runs.run_id import RunId
from profiler.store.runs.run_store import Run, RunStore, open_reports
from profiler.store.tables.columns import labels_of
from profiler.store.tables.launch_choice import (
    ALL_LAUNCHES,
    LaunchChoice,
    nvtx_names,
    rows_of_launches,
    there_are,
)
from profiler.store.tables.schema import TABLES
from profiler.text import counted, first_of

_MOST_NAMED = 6
_NO_LADDER = (
    "A number means a kernel of a ladder, which is a series of kernels, and no ladder is here. Give a report, such as "
    "mine.ncu-rep, or go to the folder that holds `kernels` and `runs`."
)
_MOST_RANGES = 20
# As other commands take several kernels: `--kernel 5-6`.
_TWO_NUMBERS = re.compile(r"(\d+)(?:-|,|\.\.|:)(\d+)")


def open_named(
    references: Sequence[str],
    settings: Settings,
    *,
    timed: bool = False,
    code: bool = False,
) -> list[Run]:
    """Returns a run for each reference; several reports are read in parallel.

    A number or a name means its newest run, a number also its newest times. A folder means the report in it, if it holds
    one alone. A run that holds only timings is refused unless `timed`. Files of machine code are opened too if `code`.
    """
    stored = cache(settings.open_store)  # opened only if a reference needs it: report files do not
    references = _located(references, settings, stored)
    code_files = {one for one in references if code and settings.reach is None and is_code_path(one)}
    if len(code_files) < len(references):
        require_ladder(settings, stored)
    reports = [one for one in references if one not in code_files and is_report_path(one, settings)]
    opened = _open_report_files(reports, settings) | {one: open_code_file(Path(one)) for one in code_files}
    timings_suffice = timed and settings.choice == ALL_LAUNCHES
    runs = [
        opened[one] if one in opened else _open_stored(one, settings, stored, timings_suffice)
        for one in references
    ]
    _require_gpu_and_size(references, runs, settings)
    return [with_launches(run, settings.choice) for run in runs]


def _located(references: Sequence[str], settings: Settings, stored: Callable[[], RunStore]) -> list[str]:
    """Returns the path that each reference means, if it means one: for a folder with one report, that report."""
    if settings.reach is None:
        meant = [reports_meant(one, settings, stored) for one in references]
        return [found[0] if len(found) == 1 else one for one, found in zip(references, meant, strict=True)]
    located = list(map(settings.reach.locate, references))
    for one in located:
        settings.reach.check(one)
    return located


def reports_meant(reference: str, settings: Settings, stored: Callable[[], RunStore]) -> list[str]:
    """Returns the reports in a folder; any other reference as it is, and so one that is also the name of a `stored` run."""
    if "\0" in reference or reference.isdecimal() or reference.endswith(REPORT_SUFFIXES) or is_url(reference):
        return [reference]
    reach = settings.reach
    folder = Path(reference if reach is None else reach.locate(os.path.join(reference, "")))
    if reach is not None and not (reach.holds(folder) and folder.is_dir()):
        located = reach.locate(reference)
        reach.check(located)
        return [located]
    held = _reports_in(folder, reach)
    if not held:
        return [reference]
    is_name_of_run = "/" not in reference and any(one.name == reference for one in stored().ids())
    return [reference] if is_name_of_run else list(map(str, held))


def _reports_in(folder: Path, reach: Reach | None) -> list[Path]:
    """Returns the reports in a folder that is no run; a link in it may lead out of what an agent may read."""
    held = [file for file in files_in(folder) if reach is None or reach.holds(file)]
    return [] if held and holds_run(folder) else held


def _open_report_files(reports: Sequence[str], settings: Settings) -> dict[str, Run]:
    """Returns the run in each file; raises an error that says what a folder holds."""
    for one in filter(os.path.isdir, reports if settings.reach is None else []):
        raise _error_of_folder(one, settings)
    runs = open_reports(list(map(Path, reports)), settings.progress) if reports else []
    return dict(zip(reports, runs, strict=True))


def _open_stored(
    reference: str,
    settings: Settings,
    stored: Callable[[], RunStore],
    timings_suffice: bool,
) -> Run:
    """Returns the run at a path, or the newest of a number or a name; a number's with the newest times of its rung.

    Its reports must be whole.
    """
    run = _run_at(reference, settings) or _find_run(reference, settings, stored)
    if not run.manifest.is_profiled and not timings_suffice:
        raise not_profiled(reference, run, stored(), settings)
    if run.manifest.is_profiled and reference.isdecimal():
        run = with_newest_times(run, timed_runs(stored(), run.manifest))
    run.verify_reports(left_elsewhere=settings.reach is None, may_be_gone=True)
    return run


def _find_run(reference: str, settings: Settings, stored: Callable[[], RunStore]) -> Run:
    """Returns the newest run of a number or a name; the error for none says what a person may have meant."""
    try:
        return find_run(reference, stored(), settings)
    except RunNotFound as error:
        if reference.isdecimal() and not known_ladders(*settings.ladder_places) and not stored().ladders():
            error.remedy = _NO_LADDER if settings.reach is None else error.remedy
            raise
        if isinstance(settings.runs, Path) and not settings.runs.exists():
            raise  # whatever the name may mean, there is no such folder
        if meant := _rung_meant(reference, settings) or ladder_meant(reference, settings):
            error.remedy = meant
        elif settings.reach is None and "\0" not in reference and os.path.isdir(reference):
            raise _error_of_folder(reference, settings) from None
        elif meant := _report_meant(reference, settings):
            error.remedy = meant
        elif settings.reach is not None and error.remedy == RunNotFound.remedy:
            error.remedy = "`list` shows what is recorded."  # an agent stores nothing
        raise


def _require_gpu_and_size(references: Sequence[str], runs: Sequence[Run], settings: Settings) -> None:
    """Raises an error for a report or a run's id, which no choice led to, on another GPU; and where no reference leaves the size to choose."""
    for run in runs:
        if not is_on(run.manifest, settings.gpu):
            raise no_such_gpu(str(settings.gpu), run.label, run.manifest.gpus)
    named = zip(references, runs, strict=True)
    if settings.size is not None and not any(is_choice(*one, settings) for one in named):
        raise no_choice(settings.size, references)


def _rung_meant(reference: str, settings: Settings) -> str:
    """Returns the kernels of the ladder that a person may have meant by a part of their names, or by two numbers in one word; else ""."""
    if two := _TWO_NUMBERS.fullmatch(reference):
        return f"Give each kernel in a word of its own: `prof compare {two[1]} {two[2]}`."
    ladder = readable_ladder(settings) if reference else None
    named = [one for one in ladder.kernels if reference.lower() in one.name.lower()] if ladder else []
    if not named or not ladder or reference.isdecimal():
        return ""
    rungs = ", ".join(f"{one.number} ({one.name})" for one in named[:3])
    return f"Kernels of the ladder {ladder.name} are named by their number: {rungs}."


def _report_meant(reference: str, settings: Settings) -> str:
    """Returns the reports or runs that a person may have meant by a name that no run has; "" where there are none."""
    if settings.reach is not None:
        folders = [folder / reference for folder in settings.reach.report_folders if "\0" not in reference]
        held = [folder for folder in folders if settings.reach.holds(folder) and files_in(folder)]
        names = [
            settings.reach.name_of(folder.resolve() / file.name)
            for folder in held
            for file in files_in(folder)
        ]
        return f"Give a report by its path: {first_of(names, _MOST_NAMED)}." if names else ""
    path = Path(reference)
    if whole := next((file for file in near_files(path) if file.name.startswith(f"{path.name}.")), None):
        # Storing the report would make a run of this name, so the name must not mean the file before that.
        return f"There is a report of that name: give {whole}, since a name without its ending means a stored run."
    if near := near_files(path):
        alike = "A report here has" if len(near) == 1 else "Reports here have"
        return f"{alike} a name like it: {', '.join(map(str, near))}."
    return f"Give a report by its path: {what_is_near(path)}." if files_in(path.parent) else ""


def _error_of_folder(reference: str, settings: Settings) -> ProfError:
    """Returns the error of a folder where one recording is wanted: it holds runs, or reports, or none of them."""
    path = Path(reference)
    ids = settings.open_store(path).ids()
    if not ids:
        return error_of_folder(path)
    return RunNotFound(
        f"{path}: a folder of runs, not a run; it holds {counted(len(ids), 'run')}",
        remedy=f"Name one of them by its path, such as {path / str(ids[-1])}; or check two such folders, `prof check --baseline FOLDER OTHER`.",
    )


def meant_by(name: str | None, settings: Settings) -> Callable[[str], bool]:
    """Returns a function that says whether a run's name fits `name`, and the ladder's kernels if --ladder was given."""
    return name_filter(name, ladder_name(settings), of_ladder=settings.ladder_given)


def is_report_path(reference: str, settings: Settings) -> bool:
    """Returns whether this means a report: a path with its ending, or any other path that is not a run's folder."""
    if is_url(reference):
        if _run_at(reference, settings) is not None:
            return False
        raise ReportNotFound(
            f"{public_url(reference)}: a report at a URL cannot be read directly",
            remedy="Store it first with `prof ingest` and its URL, then name the run.",
        )
    if "\0" in reference:  # an agent may send what no command line can hold, and no path has
        return False
    path = Path(reference)
    if reference.endswith(REPORT_SUFFIXES):
        return True
    if reference.isdecimal() or _run_at(reference, settings) is not None:
        return False
    return "/" in reference or reference in (".", "..") or (path.is_file() and not is_code_path(reference))


def _run_at(reference: str, settings: Settings) -> Run | None:
    """Returns the run at a path or URL such as `elsewhere/runs/<id>`, also if it is in a pack; else None."""
    if is_url(reference):
        location, _, name = reference.rstrip("/").rpartition("/")
        run_id = RunId.parse(name)
        return settings.open_store(location).open(run_id) if run_id else None
    if "\0" in reference:
        return None
    folder = Path(reference).resolve()
    run_id = RunId.parse(folder.name)
    if run_id is None or ("/" not in reference and not folder.exists()):
        return None
    store = settings.open_store(folder.parent)
    return store.open(run_id) if holds_run(folder) or run_id in store.ids() else None


def with_launches(run: Run, choice: LaunchChoice) -> Run:
    """Returns the run with the launches that are chosen: in an NVTX range with a matching name, or with these numbers.

    Raises KernelNotFound if there are none. Times without the profiler are those of the whole program, so they
    are left out.
    """
    if choice == ALL_LAUNCHES:
        return run
    table = run.table("launches")
    numbers = choice.launches(table)
    if not numbers:
        raise _none_chosen(run, choice)
    kernels = Counter(labels_of(rows_of_launches(table, numbers), "kernel"))
    manifest = msgspec.structs.replace(
        run.manifest, kernels=[KernelCount(name, count) for name, count in kernels.items()]
    )
    return replace(
        run, manifest=manifest, _tables={name: rows_of_launches(run.table(name), numbers) for name in TABLES}
    )


def _none_chosen(run: Run, choice: LaunchChoice) -> KernelNotFound:
    in_range = LaunchChoice(nvtx=choice.nvtx).launches(run.table("launches"))
    if choice.nvtx is not None and not in_range:
        return _nothing_inside(run, choice.nvtx)
    where = f" in an NVTX range that matches '{choice.nvtx}'" if choice.nvtx is not None else ""
    return KernelNotFound(
        f"{run.label}: no launch{where} has the number {choice.numbers}",
        remedy=f"{there_are(in_range)} `prof show --full` says which had which grid.",
    )


def _nothing_inside(run: Run, pattern: str) -> KernelNotFound:
    names = list(dict.fromkeys(chain.from_iterable(nvtx_names(run.table("launches")))))
    shown = [f"  {name or '(unnamed)'}" for name in names[:_MOST_RANGES]]
    more = len(names) - len(shown)
    return KernelNotFound(
        f"{run.label}: no launch is in an NVTX range that matches '{pattern}'{nearest_words(pattern, names)}",
        details=[*shown, *([f"  and {more} more"] if more else [])],
        remedy="These are its ranges."
        if names
        else "It holds no NVTX ranges: record it with `ncu --nvtx`, and name ranges in the program.",
    )
