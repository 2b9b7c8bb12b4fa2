"""Makes a notebook of a user's ladder or reports: a subject comes in, the text of a `.ipynb` file goes out.

The `.md.j2` files are the notebooks as a person reads them. Their fenced blocks become code cells, and the text between
them becomes Markdown cells. They contain no figures; the notebook computes them when it runs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from profiler.present.render.markdown import markdown_text

_TEMPLATES = Path(__file__).parent
_CODE = re.compile(r"^```python\n(.*?)\n```$", re.DOTALL | re.MULTILINE)
_METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def ladder_notebook(
    title: str, runs: str, ladder: str, workload: dict[str, int] | None, gpu: str | None
) -> str:
    """Returns the notebook of a ladder as a `.ipynb` file holds it, not yet executed. `runs` and `ladder` are as its cells name them.

    Without a `workload` or a `gpu`, the notebook takes those that most rungs share.
    """
    return _notebook("ladder.md.j2", title=title, runs=runs, ladder=ladder, workload=workload, gpu=gpu)


def report_notebook(title: str, recordings: list[str], kernels: list[str], kernel: str | None) -> str:
    """Returns the notebook of one recording, or of two that are compared, not yet executed. `recordings` are as its cells name them.

    `kernels` are the patterns that choose each kernel, and `kernel` is one of these, or None if there is only one.
    """
    return _notebook("report.md.j2", title=title, recordings=recordings, kernels=kernels, kernel=kernel)


def _notebook(template: str, **subject: Any) -> str:
    from jinja2 import Environment, StrictUndefined

    # A title is text in Markdown; everything else is a literal in Python.
    environment = Environment(
        undefined=StrictUndefined,
        autoescape=False,
        keep_trailing_newline=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"text": markdown_text, "literal": repr}
    document = environment.from_string((_TEMPLATES / template).read_text()).render(subject)
    cells = [_cell(number, kind, text) for number, (kind, text) in enumerate(_parts(document), start=1)]
    notebook = {"cells": cells, "metadata": _METADATA, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(notebook, indent=1, sort_keys=True) + "\n"


def _parts(document: str) -> Iterator[tuple[str, str]]:
    """Yields the Markdown and the code of the document in turn."""
    for place, text in enumerate(_CODE.split(document)):
        if text.strip():
            yield ("code" if place % 2 else "markdown"), text.strip()


def _cell(number: int, kind: str, text: str) -> dict[str, Any]:
    cell = {
        "cell_type": kind,
        "id": f"cell-{number}",
        "metadata": {},
        "source": text.splitlines(keepends=True),
    }
    return cell | ({"execution_count": None, "outputs": []} if kind == "code" else {})
