"""Finds what a project declares for prof: in `prof.toml`, or under `[tool.prof]` in `pyproject.toml`.

In `prof.toml`:                          or in `pyproject.toml`:

    gpu = "h200"                             [tool.prof]
                                             gpu = "h200"
    [check]                                  [tool.prof.check]
    duration_ns.worse_pct = 3                duration_ns.worse_pct = 3

`gpu` is the GPU that is meant where runs of several are stored and nobody asks for one. `thresholds.py` reads `check`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from profiler.catalog.ladders.toml_reader import parse_toml, read_text
from profiler.errors import ThresholdsInvalid

PROJECT_FILES = ("prof.toml", "pyproject.toml")
_KEYS = ("check", "gpu")


@dataclass(frozen=True)
class Project:
    """The file that declares something, its limits and its GPU; each is None if nothing declares it."""

    path: Path | None = None
    check: dict[str, Any] | None = None
    gpu: str | None = None


def find_project(start: Path) -> Project:
    """Returns the declarations of the nearest project file that has any, in `start` or a parent."""
    for folder in (start, *start.parents):
        for name in PROJECT_FILES:
            path = folder / name
            table = _declared(path) if path.is_file() else None
            if table is not None:
                return Project(path, table.get("check"), table.get("gpu"))
    return Project()


def _declared(path: Path) -> dict[str, Any] | None:
    """Returns the file's table for prof, or None for a `pyproject.toml` without one."""
    try:
        file = parse_toml(read_text(path))
    except (OSError, UnicodeDecodeError) as error:
        raise ThresholdsInvalid(f"{path}: cannot be read as text: {error}") from None
    except ValueError as error:
        raise ThresholdsInvalid(f"{path}: not TOML: {error}") from None
    table: Any = file
    if path.name != PROJECT_FILES[0]:
        tools = file.get("tool")
        if not isinstance(tools, dict) or "prof" not in tools:
            return None
        table = tools["prof"]
    if not isinstance(table, dict):
        project_invalid(path, "tool.prof is not a table")
    for key in table:
        if key not in _KEYS:
            project_invalid(path, f"unknown key '{key}'; known: {', '.join(_KEYS)}")
    if not isinstance(table.get("check", {}), dict):
        project_invalid(path, "check is not a table")
    if not isinstance(table.get("gpu", ""), str):
        project_invalid(path, 'gpu is a part of a GPU\'s name, such as "h200"')
    return table


def project_invalid(path: Path, reason: str) -> NoReturn:
    raise ThresholdsInvalid(f"{path}: {reason}")
