"""Says which files a person may have meant by a path that leads nowhere.

In: the path, and the endings of the files that the question is about. Out: those with a name like it, or what the folder
holds, for an error message.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from profiler.text import counted, first_of

REPORT_SUFFIX = ".ncu-rep"
COMPRESSED_SUFFIX = ".ncu-rep.zst"
REPORT_SUFFIXES = (REPORT_SUFFIX, COMPRESSED_SUFFIX)
_MOST_NEAR = 3
_MOST_LISTED = 8


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
    for file in files_in(path.parent, endings):
        by_stem.setdefault(_stem(file.name, endings), []).append(file)
    near = difflib.get_close_matches(_stem(path.name, endings), by_stem, n=_MOST_NEAR)
    return [file for stem in near for file in by_stem[stem]][:_MOST_NEAR]


def files_in(folder: Path, endings: Sequence[str] = REPORT_SUFFIXES) -> list[Path]:
    """Returns the files with these endings in a folder; none of a folder that cannot be read."""
    with suppress(OSError):
        return sorted(file for file in folder.iterdir() if file.name.endswith(tuple(endings)))
    return []


def _stem(name: str, endings: Sequence[str]) -> str:
    """Returns a name in small letters without its ending, or without what was typed instead of one."""
    name = name.lower()
    ending = max((one for one in endings if name.endswith(one)), key=len, default=None)
    return name.removesuffix(ending) if ending else name.partition(".")[0] or name


def _held(folder: Path, endings: Sequence[str], one: str, many: str) -> str:
    names = [file.name for file in files_in(folder, endings)]
    if names:
        held = f"{counted(len(names), one, many)}: {first_of(names, _MOST_LISTED)}"
    elif below := _counts_below(folder, endings):
        held = f"no {many}, but its folders do: {first_of(below, _MOST_LISTED)}"
    else:
        held = f"no {many}"
    return f"{f'this folder, {Path.cwd()},' if folder == Path() else folder} holds {held}"


def _counts_below(folder: Path, endings: Sequence[str]) -> list[str]:
    """Returns each folder in this one that holds such files, with their number. A link may lead anywhere, so it is left out."""
    counts: dict[str, int] = {}
    with suppress(OSError):
        for inner in sorted(folder.iterdir()):
            if inner.is_dir() and not inner.is_symlink():
                counts[inner.name] = len(files_in(inner, endings))
    return [f"{name} ({count})" for name, count in counts.items() if count]
