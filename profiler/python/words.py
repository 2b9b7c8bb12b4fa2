"""Says what answers and errors say in terms of the commands in terms of this interface: arguments instead of options."""

from __future__ import annotations

import re
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from profiler.errors import ProfError
from profiler.present.document import Chart, CodeBlock, Document, Table

_BASELINE = "Give the new recording first, and the older one as `baseline`"
# What a command prints, and what means the same to somebody who calls functions; longer texts before their parts.
_WORDS = {
    r"Ask next: `-k PATTERN` shows [^,]*, `--nvtx RANGE` those[^,]*, `--full` everything(?:; .*? compares two of them)?\.": (
        "Ask next: `[0]`, `['name']` and `kernel_name='name'` give one kernel, `nvtx='name'` those in an NVTX range."
    ),
    r"Ask next: `-k PATTERN` shows .*?, `--full` everything(?:; .*? compares two of them)?\.": (
        "Ask next: `[0]`, `['name']` and `kernel_name='name'` give one kernel."
    ),
    r"Ask next: `prof show RECORDING` shows all about one, and `prof compare [^`]+` what changed between two\.": (
        "Ask next: `[0]`, `['name']` and `.sheets` give all about one kernel."
    ),
    r"`prof compare (\d+) (\d+)`": r"`profiler.compare(\1, \2)`",
    r"`prof compare (\d+) (\d+) --ladder ([\w.-]+)`": r"`profiler.compare('\3-\1', '\3-\2')`",
    r"`prof compare '?([^`']+\.ncu-rep)'? '?([^`']+\.ncu-rep)'?`": r"`profiler.compare('\1', '\2')`",
    r"`--full` adds how it was": "`.manifest` adds how it was",
    r"`--full` names them": "`.missing` names them",
    r"`prof show [^`]*?-k (?:'([^`']+)'|([^`']+))`": r"`profiler.show(..., kernel_name='\1\2')`",
    r"`prof show (\d+)(?: --gpu [^`]+)?` shows all about it": r"`profiler.show(\1)` shows all about it",
    r"`prof show (\d+) --ladder ([\w.-]+)(?: --gpu [^`]+)?` shows all about it": (
        r"`profiler.show('\2-\1')` shows all about it"
    ),
    r"`prof show [^`]+` shows all about it": "`[0]` shows all about it",
    r"`prof show --full` says which had which grid": "`.shapes` of `profiler.show(...)` says which had which grid",
    r"`prof compare [^`]*?-k (?:'([^`']+)'|([^`']+))`": r"`profiler.compare(..., kernel_name='\1\2')`",
    r"both sides with `prof collect`": "both sides with `profiler.measure(..., profile=True)`",
    r"`prof collect --launches 5 --processes 5 ...`": "`profiler.measure(..., launches=5, processes=5)`",
    r"`prof collect --preset (\w+)`": r"`profiler.measure(..., preset='\1')`",
    r"--format json(?: --full)? lists them": "`.to_pandas()` lists them",
    r"(more cautions?) without --brief": r"\1 in a notebook",
    r"-k PATTERN, or all that both have with --all": "kernel_name=PATTERN",
    r"-k PATTERN \(--kernel-name\)": "kernel_name=PATTERN",
    r"`prof compare` and `prof check` take one for each side, as in `-k '?([^`]+?)'? -k '?([^`]+?)'?`": (
        r"`profiler.compare(..., kernel_name='\1', other_kernel='\2')` takes one for each side"
    ),
    r"-k PATTERN": "kernel_name=PATTERN",
    r"`prof show` lists (them|the names)": r"`profiler.read(...).top()` lists \1",
    r"`prof list(?: [^`]+)?` shows": "`profiler.open_runs().to_pandas()` shows",
    r"`prof ingest REPORT` adds a report": "`profiler.read` takes the path of a report as well",
    r"(or(?: give)? [ta]h?e? ?file): --ladder (\S+\.toml)": r"\1: profiler.ladder('\2')",
    r"Give the new runs with --runs .*? with --baseline": _BASELINE,
    r"Give the older report with --baseline .*? NEW\.ncu-rep": f"{_BASELINE}.",
    r"with --runs": "with `runs`",
    r"with --baseline": "with `baseline`",
    r"--launches": "`launches`",
    r"--launch N": "launch=N",
    r"--kernel-name": "kernel_name",
    r"--force": "force=True",
    r"--gpu": "gpu",
}
_PATTERNS = [(re.compile(rf"(?<![\w-]){words}(?![\w-])"), told) for words, told in _WORDS.items()]


def told(text: str) -> str:
    """Returns the text with the names that Python has."""
    for pattern, words in _PATTERNS:
        text = pattern.sub(words, text)
    return text


def in_python(document: Document) -> Document:
    """Returns the document with the names that Python has in all of its sentences."""
    return replace(document, sections=[_changed(section) for section in document.sections])


def _changed(value: Any) -> Any:
    """Returns the value with its texts changed; tables, code and charts hold none that name a command."""
    if isinstance(value, str):
        return told(value)
    if isinstance(value, (list, tuple)):
        return type(value)(map(_changed, value))
    if isinstance(value, Struct) and not isinstance(value, (Table, CodeBlock, Chart)):
        return replace(value, **{name: _changed(getattr(value, name)) for name in value.__struct_fields__})
    return value


def advise(error: ProfError) -> None:
    """Gives the error's remedy the names that Python has, and has the traceback end with it."""
    error.remedy = told(error.remedy)
    if error.remedy and error.remedy not in getattr(error, "__notes__", ()):
        error.add_note(error.remedy)
