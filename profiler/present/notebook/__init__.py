"""Makes a notebook of a user's recorded ladder: a subject comes in, the text of a `.ipynb` file goes out.

`ladder.md.j2` is the notebook as a person reads it. Its fenced blocks become code cells, and the text between
them becomes Markdown cells. It contains no figures; the notebook computes them when it runs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from profiler.present.render.markdown import markdown_text

_TEMPLATE = Path(__file__).parent / "ladder.md.j2"
_CODE = re.compile(r"^```python\n(.*?)\n```$", re.DOTALL | re.MULTILINE)
_METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


@dataclass(frozen=True)
class Subject:
    """The ladder that a notebook is about. `runs` and `ladder` are as its cells name them.

    Without a `workload`, the notebook takes the one that most rungs share.
    """

    title: str
    runs: str
    ladder: str
    workload: dict[str, int] | None = None


def ladder_notebook(subject: Subject) -> str:
    """Returns the notebook as a `.ipynb` file holds it, not yet executed."""
    cells = [
        _cell(number, kind, text) for number, (kind, text) in enumerate(_parts(_document(subject)), start=1)
    ]
    notebook = {"cells": cells, "metadata": _METADATA, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(notebook, indent=1, sort_keys=True) + "\n"


def _document(subject: Subject) -> str:
    from jinja2 import Environment, StrictUndefined

    # A title is text in Markdown; everything else is a literal in Python.
    environment = Environment(undefined=StrictUndefined, autoescape=False, keep_trailing_newline=True)
    environment.filters |= {"text": markdown_text, "literal": repr}
    return environment.from_string(_TEMPLATE.read_text()).render(asdict(subject))


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
