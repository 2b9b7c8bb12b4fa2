"""Says which files a person may have meant by a path that leads nowhere.

In: the path, and the endings of the files that the question is about. Out: those with a name like it, or what the folder
holds, for an error message; and the errors about a folder in the place of a report.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from profiler.errors import NotAReport, ReportError, ReportNotFound
from profiler.store.runs.file_names import MANIFEST_FILE, REPORT_SUFFIXES
from profiler.text import counted, first_of, names_like

_MOST_NEAR = 3
_MOST_LISTED = 8
_DEEPEST = 3  # of the folders in a folder that are looked into
_MOST_FOLDERS = 2000


def what_is_near(
    path: Path, endings: Sequence[str] = REPORT_SUFFIXES, *, one: str = "report", many: str = "reports"
) -> str:
    """Returns the files in this folder, or beside this path with a name like it; without any, all files beside it."""
    if path.is_dir():
        return _held(path, endings, one, many)
    folder = path.parent
    if not folder.is_dir():
        return f"there is no folder {folder}"
    if near := near_files(path, endings):
        return f"nearest: {', '.join(file.name for file in near)}"
    return _held(folder, endings, one, many)


def near_files(path: Path, endings: Sequence[str] = REPORT_SUFFIXES) -> list[Path]:
    """Returns the files beside this path with a similar name. Equal endings alone do not make names similar."""
    by_stem: dict[str, list[Path]] = {}
    for file in (one for one in files_in(path.parent, endings) if one.name != path.name):
        by_stem.setdefault(_stem(file.name, endings), []).append(file)
    near = names_like(_stem(path.name, endings), by_stem, _MOST_NEAR)
    return [file for stem in near for file in by_stem[stem]][:_MOST_NEAR]


def files_in(folder: Path, endings: Sequence[str] = REPORT_SUFFIXES) -> list[Path]:
    """Returns the files with these endings in a folder; none of a folder that cannot be read."""
    with suppress(OSError):
        return sorted(file for file in folder.iterdir() if file.name.endswith(tuple(endings)))
    return []


def error_of_folder(folder: Path) -> ReportError:
    """Returns the error of a folder where one report is wanted: it holds several, or none."""
    near = what_is_near(folder)
    if held := files_in(folder):
        return NotAReport(
            f"{folder}: a folder, not a report file; {near}",
            remedy=f"Give one of them, such as {held[0]}; `prof show {shlex.quote(str(folder))}` takes all, and "
            "`prof check --baseline OLD NEW` compares those of two folders.",
            near=f"; {near}",
        )
    below = next(iter(_counts_below(folder, REPORT_SUFFIXES)), None)
    remedy = f"Name a folder that holds reports itself, such as {folder / below}." if below else None
    return ReportNotFound(
        f"{folder}: a folder that holds {_listed(folder, REPORT_SUFFIXES, 'report', 'reports')}",
        remedy=remedy or "Give a report, or a folder that holds some.",
    )


def _stem(name: str, endings: Sequence[str]) -> str:
    """Returns a name in small letters without its ending, or without what was typed instead of one."""
    name = name.lower()
    ending = max((one for one in endings if name.endswith(one)), key=len, default=None)
    return name.removesuffix(ending) if ending else name.partition(".")[0] or name


def _held(folder: Path, endings: Sequence[str], one: str, many: str) -> str:
    where = f"this folder, {Path.cwd()}," if folder == Path() else folder
    return f"{where} holds {_listed(folder, endings, one, many)}"


def _listed(folder: Path, endings: Sequence[str], one: str, many: str) -> str:
    names = [file.name for file in files_in(folder, endings)]
    if names:
        return f"{counted(len(names), one, many)}: {first_of(names, _MOST_LISTED)}"
    if counts := _counts_below(folder, endings):
        below = [f"{name} ({count})" for name, count in counts.items()]
        return f"no {many}, but folders in it do: {first_of(below, _MOST_LISTED)}"
    return f"no {many}"


def _counts_below(folder: Path, endings: Sequence[str]) -> dict[str, int]:
    """Returns the folders below this one that hold such files, with their numbers.

    A link may lead anywhere, so it is left out, and so are hidden folders and stored runs. A home with a million files must
    not take long.
    """
    counts: dict[str, int] = {}
    for looked_into, (parent, folders, files) in enumerate(os.walk(folder), start=1):
        inner = Path(parent).relative_to(folder)
        held = sum(name.endswith(tuple(endings)) for name in files)
        if held and inner.parts and MANIFEST_FILE not in files:
            counts[str(inner)] = held
        is_deepest = len(inner.parts) == _DEEPEST
        folders[:] = [] if is_deepest else sorted(name for name in folders if not name.startswith("."))
        if looked_into == _MOST_FOLDERS:
            break
    return counts
