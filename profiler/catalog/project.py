"""Finds what a project declares for prof: in `prof.toml`, or under `[tool.prof]` in `pyproject.toml`.

In `prof.toml`:                          or in `pyproject.toml`:

    gpu = "h200"                             [tool.prof]
                                             gpu = "h200"
    [check]                                  [tool.prof.check]
    duration_ns.worse_pct = 3                duration_ns.worse_pct = 3

`gpu` is the GPU that is meant where runs of several are stored and nobody asks for one. `thresholds.py` reads `check`.
Either may stand in another file than the other: a file that declares no limits hides none.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal, NoReturn

from profiler.catalog.ladders.toml_reader import parse_toml, read_text
from profiler.errors import ThresholdsInvalid

PROJECT_FILES = ("prof.toml", "pyproject.toml")
_KEYS = ("check", "gpu")


def find_declared(start: Path, key: Literal["check", "gpu"]) -> tuple[Path, Any] | None:
    """Returns what the nearest project file with this key declares, in `start` or a parent, and the file's path."""
    for folder in (start, *start.parents):
        for name in PROJECT_FILES:
            path = folder / name
            table = _declared(path) if path.is_file() else {}
            if key in table:
                return path, table[key]
    return None


def _declared(path: Path) -> dict[str, Any]:
    """Returns the file's table for prof, which is empty for a `pyproject.toml` without one."""
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
            return {}
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
