"""The result of `prof check --sass` as a document: every function, and where it begins to differ."""

from __future__ import annotations

from profiler.analyse.code.sameness import CodeCheck, State
from profiler.present.document import Column, Document, Records, Row, Table, Text, Tone
from profiler.text import counted, shortened

_NAME_WIDTH = 60
_HEADER = (
    "function",
    "state",
    "instructions_before",
    "instructions_after",
    "index",
    "before",
    "after",
    "place",
)
_TONE: dict[State, Tone] = {"same": "good", "changed": "bad", "missing": "bad", "new": "bad"}


def code_check_document(finding: CodeCheck) -> Document:
    """Returns a row for each function; a changed one has the first instructions that differ."""
    columns = (
        Column("function", folds=True),
        Column("code"),
        Column("instructions", right=True),
        Column("baseline", folds=True),
        Column("candidate", folds=True),
        Column("line"),
    )
    rows = []
    for one in finding.functions:
        counts = f"{one.instructions_before} → {one.instructions_after}"
        if one.instructions_before == one.instructions_after:
            counts = str(one.instructions_before)
        name = shortened(one.function, _NAME_WIDTH)
        values = (name, one.state, counts, one.before, one.after, one.place or "")
        rows.append(Row(values, _TONE[one.state]))
    records = [
        [one.function, one.state, one.instructions_before, one.instructions_after, one.index, one.before, one.after, one.place]
        for one in finding.functions
    ]  # fmt: skip
    verdict = sentence(finding)
    closing = Text(verdict, "bad" if finding.changed else "good", strong=True, wraps=False)
    return Document(verdict, [[Table(columns, rows)]], Records(_HEADER, records), closing=closing)


def sentence(finding: CodeCheck) -> str:
    """Returns the outcome in one line."""
    other = [one for one in finding.functions if one.state != "same"]
    whole = counted(len(finding.functions), "function", "functions")
    if not other:
        return f"the machine code is the same in {whole}"
    first = other[0]
    name = shortened(first.function, _NAME_WIDTH)
    where = {
        "changed": f"{name}, from instruction {first.index} on",
        "missing": f"{name} is gone",
        "new": f"{name} is new",
        "same": "",
    }[first.state]
    return f"the machine code differs in {len(other)} of {whole}: {where}"
