"""Opens the runs that a person named by a rung's number, a run's id or name, or a report's file."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cache
from itertools import chain
from pathlib import Path
from shlex import quote

import msgspec

from profiler.analyse.recording.kernel_choice import nearest_words
from profiler.ask.named.code_file import open_code_file
from profiler.ask.named.gpus import is_on, no_such_gpu
from profiler.ask.named.ladders import ladder_meant, ladder_name, readable_ladder, require_ladder
from profiler.ask.named.meaning import (
    CodePath,
    Meant,
    ReportFolder,
    ReportPath,
    ReportUrl,
    RunName,
    RunPlace,
    find_meaning,
)
from profiler.ask.named.newest_times import timed_runs, with_newest_times
from profiler.ask.named.settings import Settings
from profiler.ask.named.sizes import find_run, is_choice, no_choice, not_profiled
from profiler.catalog.ladders.ladder import known_ladders
from profiler.errors import KernelNotFound, NotAReport, ProfError, ReportNotFound, RunNotFound
from profiler.store.remote.urls import public_url
from profiler.store.reports.near import error_of_folder, files_in, near_files, what_is_near
from profiler.store.runs.manifest import KernelCount
from profiler.store.runs.names import name_filter
from profiler.store.runs.run import Run
from profiler.store.runs.run_store import RunStore
from profiler.store.runs.unstored import open_reports
from profiler.store.tables.columns import labels_of
from profiler.store.tables.launch_choice import (
    ALL_LAUNCHES,
    LaunchChoice,
    nvtx_names,
    there_are,
)
from profiler.text import counted, first_of, lines_of_first

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
    meant = [find_meaning(one, settings, stored, code=code) for one in references]
    if not all(isinstance(one, CodePath) for one in meant):
        require_ladder(settings, stored)
    _refuse_what_is_no_recording(meant, settings)
    paths = [one.path for one in meant if isinstance(one, ReportPath)]
    reports = dict(zip(paths, open_reports(list(map(Path, paths)), settings.progress), strict=True))
    timings_suffice = timed and settings.choice == ALL_LAUNCHES

    def opened(one: Meant) -> Run:
        match one:
            case ReportPath(path):
                return reports[path]
            case CodePath(path):
                return open_code_file(Path(path))
            case RunName() | RunPlace():
                return _open_stored(one, settings, stored, timings_suffice)
        raise AssertionError(f"{one} is refused above")

    runs = list(map(opened, meant))
    _require_gpu_and_size(references, runs, settings)
    return [with_launches(run, settings.choice) for run in runs]


def _refuse_what_is_no_recording(meant: Iterable[Meant], settings: Settings) -> None:
    for one in meant:
        match one:
            case ReportUrl(url):
                raise ReportNotFound(
                    f"{public_url(url)}: a report at a URL cannot be read directly",
                    remedy="Store it first with `prof ingest` and its URL, then name the run.",
                )
            case ReportFolder(path, reports):
                raise _error_of_folder(Path(path), reports, settings)


def _open_stored(
    meant: RunName | RunPlace, settings: Settings, stored: Callable[[], RunStore], timings_suffice: bool
) -> Run:
    """Returns the run at a place, or the newest of a number or a name; a number's with the newest times of its rung.

    Its reports must be whole.
    """
    if isinstance(meant, RunPlace):
        run = settings.open_store(meant.location).open(meant.run_id)
    else:
        run = _find_run(meant, settings, stored)
    if not run.manifest.is_profiled and not timings_suffice:
        raise not_profiled(meant.text, run, stored(), settings)
    if run.manifest.is_profiled and isinstance(meant, RunName) and meant.is_number:
        run = with_newest_times(run, timed_runs(stored(), run.manifest))
    run.verify_reports(left_elsewhere=settings.reach is None, may_be_gone=True)
    return run


def _find_run(name: RunName, settings: Settings, stored: Callable[[], RunStore]) -> Run:
    """Returns the newest run of a number or a name; the error for none says what a person may have meant."""
    try:
        return find_run(name.text, stored(), settings)
    except RunNotFound as error:
        error.name = "" if name.is_number else name.text
        if name.is_number and not known_ladders(*settings.ladder_places) and not stored().ladders():
            error.remedy = _NO_LADDER if settings.reach is None else error.remedy
            raise
        if isinstance(settings.runs, Path) and not settings.runs.exists():
            raise  # whatever the name may mean, there is no such folder
        if meant := _rung_meant(name, settings) or ladder_meant(name.text, settings):
            error.remedy = meant
        elif settings.reach is not None:
            if error.remedy == RunNotFound.remedy:
                error.remedy = "`list` shows what is recorded."  # an agent stores nothing
        elif os.path.isdir(name.text):
            raise _error_of_folder(Path(name.text), (), settings) from None
        elif meant := _report_meant(Path(name.text)):
            error.remedy = meant
        raise


def _require_gpu_and_size(references: Sequence[str], runs: Sequence[Run], settings: Settings) -> None:
    """Raises an error for a report or a run's id, which no choice led to, on another GPU; and where no reference leaves the size to choose."""
    for run in runs:
        if not is_on(run.manifest, settings.gpu):
            raise no_such_gpu(str(settings.gpu), run.label, run.manifest.gpus)
    named = zip(references, runs, strict=True)
    if settings.size is not None and not any(is_choice(*one, settings) for one in named):
        raise no_choice(settings.size, references)


def _rung_meant(meant: RunName, settings: Settings) -> str:
    """Returns the kernels of the ladder that a person may have meant by a part of their names, or by two numbers in one word; else ""."""
    name = meant.text.lower()
    if two := _TWO_NUMBERS.fullmatch(name):
        return f"Give each kernel in a word of its own: `prof compare {two[1]} {two[2]}`."
    ladder = readable_ladder(settings) if name else None
    named = [one for one in ladder.kernels if name in one.name.lower()] if ladder else []
    if not named or not ladder or meant.is_number:
        return ""
    rungs = ", ".join(f"{one.number} ({one.name})" for one in named[:3])
    return f"Kernels of the ladder {ladder.name} are named by their number: {rungs}."


def _report_meant(path: Path) -> str:
    """Returns the reports that a person may have meant by a name that no run has; "" where there are none."""
    if whole := next((file for file in near_files(path) if file.name.startswith(f"{path.name}.")), None):
        # Storing the report would make a run of this name, so the name must not mean the file before that.
        return f"There is a report of that name: give {whole}, since a name without its ending means a stored run."
    if near := near_files(path):
        alike = "A report here has" if len(near) == 1 else "Reports here have"
        return f"{alike} a name like it: {', '.join(map(str, near))}."
    return f"Give a report by its path: {what_is_near(path)}." if files_in(path.parent) else ""


def _error_of_folder(path: Path, reports: Sequence[str], settings: Settings) -> ProfError:
    """Returns the error of a folder where one recording is wanted: it holds runs, or reports, or none of them."""
    if settings.reach is not None:
        names = [settings.reach.name_of(Path(one).parent.resolve() / Path(one).name) for one in reports]
        return NotAReport(
            f"{path}: a folder, not a report file",
            remedy=f"Give a report by its path: {first_of(names, _MOST_NAMED)}.",
        )
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
    """Returns whether this means a report, or a folder where one is wanted."""
    return isinstance(find_meaning(reference, settings), ReportPath | ReportFolder)


def with_launches(run: Run, choice: LaunchChoice) -> Run:
    """Returns the run with the launches that are chosen: in an NVTX range with a matching name, or with these numbers.

    Raises KernelNotFound if there are none. Times without the profiler are those of the whole program, so they
    are left out.
    """
    if choice == ALL_LAUNCHES:
        return run
    numbers = choice.launches(run.table("launches"))
    if not numbers:
        raise _none_chosen(run, choice)
    narrowed = run.of_launches(numbers, timed=False)
    kernels = Counter(labels_of(narrowed.table("launches"), "kernel"))
    counts = [KernelCount(name, count) for name, count in kernels.items()]
    return replace(narrowed, manifest=msgspec.structs.replace(run.manifest, kernels=counts))


def _none_chosen(run: Run, choice: LaunchChoice) -> KernelNotFound:
    in_range = LaunchChoice(nvtx=choice.nvtx).launches(run.table("launches"))
    if choice.nvtx is not None and not in_range:
        return _nothing_inside(run, choice.nvtx)
    where = f" in an NVTX range that matches '{choice.nvtx}'" if choice.nvtx is not None else ""
    name = run.manifest.name if run.stored else str(run.path)
    return KernelNotFound(
        f"{run.label}: no launch{where} has the number {choice.numbers}",
        remedy=f"{there_are(in_range)} `prof show {quote(name)} --full` says which had which grid.",
    )


def _nothing_inside(run: Run, pattern: str) -> KernelNotFound:
    names = list(dict.fromkeys(chain.from_iterable(nvtx_names(run.table("launches")))))
    return KernelNotFound(
        f"{run.label}: no launch is in an NVTX range that matches '{pattern}'{nearest_words(pattern, names)}",
        details=lines_of_first([name or "(unnamed)" for name in names], _MOST_RANGES),
        remedy="These are its ranges."
        if names
        else "It holds no NVTX ranges: record it with `ncu --nvtx`, and name ranges in the program.",
    )
