"""What the compiler said of the kernels that a rung means: found by their names as ncu shows them.

What was built in; the resources of each kernel that the ladder's expression fits out. Names are demangled by the
toolkit's `cu++filt`, else by `c++filt`; without either the expression is held against the names as they are compiled.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from profiler.catalog.patterns import search_names
from profiler.errors import ProfError
from profiler.measure.rungs.build import Built
from profiler.measure.tools.process import run
from profiler.measure.tools.ptxas import Resources
from profiler.measure.tools.toolchain import toolkit_candidates

_TIMEOUT_S = 10.0
_MOST_NAMED = 3
_NAME_WIDTH = 60


def own_resources(built: Built) -> list[Resources]:
    """Empty where nothing is known: it was not compiled, or its expression fits none of its kernels."""
    record, regex = built.record, built.kernel.regex
    if record is None or not regex:
        return []
    fitting = search_names(regex, _names_of(record.resources))
    return [one for one, fits in zip(record.resources, fitting, strict=True) if fits]


def misfit_text(built: Built) -> str:
    """Why nothing is known of a rung that has kernels of its own, with those most like what was meant; else empty."""
    from difflib import SequenceMatcher

    record, kernel = built.record, built.kernel
    if record is None or not record.resources or not kernel.regex or kernel.needs or own_resources(built):
        return ""  # what it needs is a library, whose kernels are compiled already
    regex = kernel.regex

    def likeness(name: str) -> int:
        return SequenceMatcher(None, regex, name, autojunk=False).find_longest_match().size

    names = [_cut(name) for name in sorted(_names_of(record.resources), key=likeness, reverse=True)]
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return f"'{regex}' fits no kernel that was compiled: {', '.join(names[:_MOST_NAMED])}{more}"


def _names_of(resources: list[Resources]) -> tuple[str, ...]:
    return _demangled(tuple(one.function for one in resources), tuple(_tools()))


@cache  # the points of a sweep have the same names
def _demangled(names: tuple[str, ...], tools: Sequence[Path]) -> tuple[str, ...]:
    for tool in tools:
        try:
            answer = run([str(tool), *names], timeout_s=_TIMEOUT_S)
        except ProfError:
            continue
        found = tuple(answer.stdout.splitlines())
        if answer.exit_code == 0 and len(found) == len(names):
            return found
    return names


def _tools() -> Iterator[Path]:
    """The toolkit's own writes template arguments as ncu does: `<(int)4>`; the other, `<4>`."""
    yield from (tool for tool in toolkit_candidates("cu++filt", os.environ) if tool.is_file())
    if found := shutil.which("c++filt"):
        yield Path(found)


def _cut(name: str) -> str:
    return name if len(name) <= _NAME_WIDTH else f"{name[: _NAME_WIDTH - 1]}…"
