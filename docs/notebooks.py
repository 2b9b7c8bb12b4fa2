"""The notebooks of `dashboards/`, executed from `runs/` in a clean kernel.

    python docs/notebooks.py --write     execute them and store what they show
    python docs/notebooks.py --check     fail when they show something else today

What differs from one execution to the next (times, versions, paths) is not stored. Checking compares
figures within a rounding error and pictures by their words, as other processors and fonts may differ in the rest.
"""

import argparse
import difflib
import json
import math
import re
import sys
from copy import deepcopy
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

DASHBOARDS = Path(__file__).resolve().parent.parent / "dashboards"
NOTEBOOKS = sorted(DASHBOARDS.glob("*.ipynb"))
_METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
_TIMEOUT_S = 300
_ROUNDING = 1e-6


def executed(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """A copy with the outputs of today, run where a reader runs it: in its own folder."""
    copy = deepcopy(notebook)
    for cell in copy.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    resources = {"metadata": {"path": str(DASHBOARDS)}}
    NotebookClient(copy, timeout=_TIMEOUT_S, resources=resources, record_timing=False).execute()
    copy.metadata = nbformat.from_dict(_METADATA)
    for number, cell in enumerate(copy.cells, start=1):
        cell.id = f"cell-{number}"
        cell.metadata = nbformat.NotebookNode()
    return copy


def shown(notebook: nbformat.NotebookNode) -> list[Any]:
    """Returns what a reader sees, cell by cell: code, words, tables, pictures."""
    return [[cell.source, *map(_output, cell.get("outputs", ()))] for cell in notebook.cells]


def _output(output: dict[str, Any]) -> Any:
    data = dict(output.get("data", {}))
    if "image/svg+xml" in data:
        data["image/svg+xml"] = re.findall(r">([^<>\s][^<>]*)</text>", data["image/svg+xml"])
    return [output["output_type"], output.get("text", ""), data]


def alike(left: Any, right: Any) -> bool:
    """Equal, but for the last digits of figures."""
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(alike(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(alike, left, right))
    if isinstance(left, float) and isinstance(right, (int, float)):
        return math.isclose(left, right, rel_tol=_ROUNDING, abs_tol=1e-9)
    return bool(left == right)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    action = parser.add_mutually_exclusive_group(required=True)
    action.add_argument("--write", action="store_true")
    action.add_argument("--check", action="store_true")
    wants = parser.parse_args()
    stale = 0
    for path in NOTEBOOKS:
        stored = nbformat.read(path, as_version=4)
        today = executed(stored)
        if wants.write:
            nbformat.write(today, path)
        elif not alike(shown(stored), shown(today)):
            stale += 1
            print(f"{path.name} is not current: run `just docs`", file=sys.stderr)
            lines = [json.dumps(shown(one), indent=1, sort_keys=True).splitlines() for one in (stored, today)]
            print(*list(difflib.unified_diff(*lines, "stored", "today", lineterm=""))[:60], sep="\n")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
