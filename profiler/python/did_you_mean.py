"""Says what somebody meant who calls functions: the keyword, the attribute or the function behind a name that is not there."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from inspect import Parameter, signature
from typing import Any

from profiler.text import names_like

_NO_KEYWORD = re.compile(r"(\w+)\(\) got an unexpected keyword argument '(\w+)'")
_TOO_MANY = re.compile(r"(\w+)\(\) takes .* positional arguments? but \d+ (?:was|were) given")

_LEAST_BEGINNING = 3  # characters of a keyword
_OF_A_SHEET = ("check", "compare", "read", "report", "sass", "source_lines")


def advise_call(error: TypeError, functions: Mapping[str, Any]) -> None:
    """Has the error of a call that Python refuses say which keywords one of these functions takes."""
    text = str(error)
    refused = _NO_KEYWORD.match(text) or _TOO_MANY.match(text)
    if refused is None or refused[1] not in functions:
        return
    takes = signature(functions[refused[1]]).parameters
    if refused.re is _NO_KEYWORD:
        error.args = (f"{refused[1]}() takes no {refused[2]!r}{keyword_meant(refused[2], list(takes))}",)
    elif named := [name for name, one in takes.items() if one.kind is Parameter.KEYWORD_ONLY]:
        error.args = (f"{text}; by name it takes {', '.join(named)}",)


def keyword_meant(name: str, known: Sequence[str]) -> str:
    """Returns an ending for an error message: the keyword that was meant, or all that there are."""
    meant = {"k": "kernel_name", "size": "workload"}.get(name)
    if name == "full" and name not in known:
        return "; the answer has everything, and its .text() is all that the command prints with --full"
    begins = [one for one in known if one.startswith(name) and len(name) >= _LEAST_BEGINNING]
    near = [meant] if meant in known else names_like(name, known) or begins
    return f"; did you mean {near[0]}=...?" if near else f"; it takes {', '.join(known)}"


def lacking(answer: Any, name: object) -> str:
    """Returns an ending for an error message: how to reach what an answer has not under this name, or what it has."""
    known = dir(answer)
    if "metrics" in known and any(one.name == name for one in answer.metrics):
        return f"; .metrics[{name!r}] is that metric"
    several = [one for one in ("sheets", "comparisons", "pairs", "kernels") if one in known]
    if name in _OF_A_SHEET and "sheets" in known:
        return f"; prof.{name}(...) takes this answer"
    if isinstance(name, int) and several:
        return f"; did you mean .{several[0]}[{name}]?"
    near = [name] if name in known else names_like(str(name), known)
    return f"; did you mean .{near[0]}?" if near else f"; it has {', '.join(f'.{one}' for one in known)}"


# What other packages call what this one has, and the commands that only a terminal has.
_CALLED = {
    "load": "read", "open": "read", "diff": "compare", "profile": "measure", "bench": "measure", "benchmark": "measure",
    "do_bench": "measure", "html": "report", "to_html": "report", "autotune": "tune", "query": "open_runs(...).query",
    "list": "open_runs(...).to_pandas", "runs": "open_runs",
}  # fmt: skip
COMMANDS_ALONE = frozenset(
    {
        "build", "causes", "collect", "compact", "doctor", "export", "fsck", "ingest", "mcp", "metrics", "notebook",
        "presets", "time", "verify", "worker",
    }
)  # fmt: skip


def instead_of(name: str, known: Sequence[str]) -> str:
    """Returns an ending for an error message: what to use instead of a name that the package has not, or all that it has."""
    if name in COMMANDS_ALONE:
        return f": in a terminal, `prof {name}` does that"
    near = () if name.startswith("_") else names_like(name, known)
    if meant := _CALLED.get(name) or next(iter(near), None):
        return f"; did you mean prof.{meant}?"
    return f"; it has {', '.join(known)} and errors"
