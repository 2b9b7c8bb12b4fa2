"""`prof notebook` lists and opens the shipped notebooks, or writes one for the user's own runs."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, NoReturn

from typer import Argument, Option

from profiler.analyse.ladder.climb import Climb
from profiler.ask.ladder import climb_ladder
from profiler.ask.named.references import open_named
from profiler.ask.profiles import longest_pattern, patterns_of
from profiler.catalog.ladders.ladder import find_ladder
from profiler.commands.shared import options
from profiler.commands.shared.files import check_output
from profiler.commands.shared.misuse import Misuse
from profiler.commands.shared.output import print_document
from profiler.errors import LadderNotFound, NotebookUnavailable, OutputNotWritable, ReportError, RunNotFound
from profiler.present.document import Column
from profiler.present.documents.parts.rows import rows_document
from profiler.store.disk import write_whole
from profiler.store.remote.places import Location, location_of
from profiler.store.reports.near import files_in, near_files
from profiler.store.runs.file_names import REPORT_SUFFIX
from profiler.store.runs.run import Run
from profiler.text import names_like, printable

# In the folder `dashboards/` of prof's repository.
SHIPPED = {
    "four_way_confirmation": "Four counters that confirm one idea: kernels 5 and 6 of the GEMM ladder.",
    "ladder": "The whole GEMM ladder: time, stalls, roofline, and what every step changed.",
}
_FOLDER, _SUFFIX = "dashboards", ".ipynb"
# Jupyter's two interfaces, as modules that Python runs.
_JUPYTER = ("jupyterlab", "notebook")
_FEWEST_RUNGS = 2
_MOST_RECORDINGS = 2


def notebook(
    *,
    names: Annotated[
        list[str] | None,
        Argument(
            help="Notebook to open: a shipped one, or a file; or one or two recordings, to write a notebook about them.",
            show_default=False,
        ),
    ] = None,
    output: Annotated[
        Path | None,
        Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Write a notebook to this file [default: the recording's name, or A-to-B for two, with .ipynb].",
        ),
    ] = None,
    size: options.LadderSizeOption = None,
    set_param: options.ParameterOption = None,
    overwrite: Annotated[bool, Option("--overwrite", help="Write over a file that exists.")] = False,
    settings: options.ReadingSettings,
    ladder: options.LadderOption = None,
) -> None:
    """List, open or write a notebook over recorded runs.

    Without a name, `prof` lists the notebooks that come with it. To open one, you need Jupyter in prof's environment.
    A notebook that `prof` writes computes every number when its cells run. It finds its reports, or its runs and its
    ladder, by paths relative to its own file.

    Examples:
      prof notebook
      prof notebook ladder
      prof notebook mine.ncu-rep
      prof notebook before.ncu-rep after.ncu-rep -o compared.ipynb
      prof notebook 5 6
      prof notebook --ladder mine -o mine.ipynb
    """
    names, settings = names or [], replace(settings, size=size)
    if output is not None:
        check_output(output, (_SUFFIX,), "--output")
    if names and (len(names) > 1 or not _is_notebook(names[0])):
        if len(names) > _MOST_RECORDINGS:
            raise Misuse("name one notebook to open, or at most two recordings to write one about")
        if set_param:
            raise Misuse(
                "--set-param is for a notebook over a ladder; --size chooses among the runs of a name"
            )
        recordings = _recordings(names, settings)
        path = output or Path(f"{'-to-'.join(map(_name_of, recordings))}{_SUFFIX}")
        _write(path, settings, overwrite, lambda folder: _about_recordings(folder, recordings))
        return
    if output is not None:
        if names:
            raise Misuse("give a name to open, or -o FILE to write one: not both")
        _write(output, settings, overwrite, lambda folder: _about_ladder(folder, settings, set_param))
        return
    if size is not None or set_param or settings.gpu is not None or overwrite or ladder:
        raise Misuse("--ladder, --size, --set-param, --gpu and --overwrite are for writing: add -o FILE")
    if names:
        _open(_find(names[0]))
    else:
        _list(settings)


def _list(settings: options.VerbSettings) -> None:
    folder = _shipped_folder()
    rows = [(name, about, str(_shown(folder / f"{name}{_SUFFIX}"))) for name, about in SHIPPED.items()]
    columns = (Column("name"), Column("about", folds=True), Column("file"))
    print_document(rows_document(("name", "about", "file"), rows, columns), settings.format)


def _shipped_folder() -> Path:
    """Returns the folder of notebooks in the checkout that prof runs from, or in the current one."""
    here = Path.cwd()
    for place in (Path(__file__).parents[3], here, *here.parents):
        if all((place / _FOLDER / f"{name}{_SUFFIX}").is_file() for name in SHIPPED):
            return place / _FOLDER
    raise NotebookUnavailable(
        "the shipped notebooks come with prof's repository, not with its package",
        remedy="Run this in a clone of it; or write one over your own runs: `prof notebook -o mine.ipynb`.",
    )


def _is_notebook(name: str) -> bool:
    """Returns whether this names a notebook to open, and no recording to write one about."""
    return name.endswith(_SUFFIX) or name in SHIPPED


def _recordings(names: Sequence[str], settings: options.VerbSettings) -> list[Run]:
    """Returns the recordings that are named; the error for a name that no run has says which notebook may have been meant."""
    try:
        return open_named(names, settings)
    except (RunNotFound, ReportError) as error:
        if len(names) > 1 or names[0].endswith(REPORT_SUFFIX):
            raise
        raise NotebookUnavailable(
            f"{names[0]}: no shipped notebook, no {_SUFFIX} file, and no run",
            remedy=_meant(Path(names[0])) or error.remedy,
        ) from None


def _name_of(run: Run) -> str:
    return run.manifest.name if run.stored else Path(run.path).stem


def _find(name: str) -> Path:
    if name.removesuffix(_SUFFIX) in SHIPPED and not Path(name).is_file():
        return _shipped_folder() / f"{name.removesuffix(_SUFFIX)}{_SUFFIX}"
    path = Path(name)
    if path.suffix != _SUFFIX or not path.is_file():
        raise NotebookUnavailable(f"{name}: no shipped notebook, and no {_SUFFIX} file", remedy=_meant(path))
    return path


def _meant(path: Path) -> str | None:
    """Returns the notebook to open, or the reports to write one about, that a person may have meant; None where nothing is near."""
    if near := names_like(path.stem, SHIPPED):
        return f"There is one called {near[0]}: `prof notebook {near[0]}` opens it."
    reports = [file for file in files_in(path) or near_files(path) if file.name.endswith(REPORT_SUFFIX)]
    if not reports:
        return None
    words = shlex.join(map(str, reports[:_MOST_RECORDINGS]))
    return printable(
        f"To write a notebook about one report, or about two, name their files: `prof notebook {words}`."
    )


def _open(path: Path) -> NoReturn:
    """Replaces this process with the Jupyter of this environment, where prof can be imported."""
    module = next((one for one in _JUPYTER if find_spec(one)), None)
    if module is None:
        raise NotebookUnavailable(
            f"Jupyter is not installed beside prof; the notebook is {_shown(path)}",
            remedy="`pip install jupyterlab`, in the environment that holds prof; or open the file in another "
            "notebook editor.",
        )
    sys.stdout.flush()
    os.execv(sys.executable, [sys.executable, "-m", module, str(path)])


def _shown(path: Path) -> Path:
    """Returns the path, relative to the current folder if it is below that."""
    here = Path.cwd()
    return path.resolve().relative_to(here) if path.resolve().is_relative_to(here) else path


def _write(
    path: Path, settings: options.VerbSettings, overwrite: bool, notebook_in: Callable[[Path], str]
) -> None:
    """Writes the notebook that refers to everything as from the folder of the file."""
    if path.exists() and not overwrite:
        raise OutputNotWritable(
            f"{path}: exists already, and its content would be lost",
            remedy="Name another file with `--output`, or write over this one with `--overwrite`.",
        )
    write_whole(notebook_in(path.resolve().parent).encode(), path)
    settings.say(f"Wrote {path}")


def _about_ladder(folder: Path, settings: options.VerbSettings, set_param: list[str] | None) -> str:
    from profiler.present.notebook import ladder_notebook

    climb = climb_ladder(settings, set_param)
    _require_rungs(climb)
    return ladder_notebook(
        title=climb.ladder.title,
        runs=_from(folder, settings.runs_folder),
        ladder=_ladder_reference(folder, climb),
        workload=climb.finding.workload if settings.size is not None or set_param else None,
        gpu=settings.gpu,
    )


def _about_recordings(folder: Path, runs: Sequence[Run]) -> str:
    """Returns a notebook about one recording, or about two that are compared."""
    from profiler.present.notebook import report_notebook

    return report_notebook(
        title=" → ".join(run.label if run.stored else Path(run.path).name for run in runs),
        recordings=[_from(folder, location_of(str(run.path))) for run in runs],
        kernels=patterns_of(runs),
        kernel=longest_pattern(runs),
    )


def _require_rungs(climb: Climb) -> None:
    if len(climb.rungs) >= _FEWEST_RUNGS:
        return
    recorded = ", ".join(str(rung.kernel) for rung in climb.rungs)
    missing = [one for one in climb.ladder.kernels if one.number != climb.rungs[0].kernel.number]
    raise RunNotFound(
        f"ladder '{climb.ladder.name}': of {climb.conditions}, only {recorded} is recorded; a notebook needs "
        f"{_FEWEST_RUNGS} rungs",
        details=[f"  missing: {kernel}" for kernel in missing],
        remedy="Record another with `prof collect` or `prof time`, or store its report with `prof ingest`.",
    )


def _ladder_reference(folder: Path, climb: Climb) -> str:
    """Returns the ladder's name if a notebook in this folder can find it by name, else its file."""
    file = climb.ladder.path.resolve()
    try:
        found = find_ladder(climb.ladder.name, folder)
    except LadderNotFound:
        found = None
    return climb.ladder.name if found and found.resolve() == file else _from(folder, file)


def _from(folder: Path, target: Location) -> str:
    if isinstance(target, str):  # a URL
        return target
    return Path(os.path.relpath(target.resolve(), folder)).as_posix()
