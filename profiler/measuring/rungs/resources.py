"""Finds the compiler's figures for a rung's own kernels, by their names as ncu shows them.

In: what was built. Out: registers, shared memory and spills of each kernel whose name the ladder's expression matches.
The toolkit's `cu++filt` demangles the names, else `c++filt`; without either, the expression must match mangled names.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from functools import cache
from pathlib import Path

from profiler.catalog.patterns import search_names
from profiler.errors import ProfError
from profiler.measuring.rungs.build import Built
from profiler.measuring.tools.process import run
from profiler.measuring.tools.ptxas import Resources
from profiler.measuring.tools.toolchain import toolkit_candidates
from profiler.text import cut, first_of

_TIMEOUT_S = 10.0
_MOST_NAMED = 3
_NAME_WIDTH = 60


def own_resources(built: Built) -> list[Resources]:
    """Returns the figures of a rung's own kernels; none if it was not compiled, or its expression matches no kernel."""
    record, regex = built.record, built.kernel.regex
    if record is None or not regex:
        return []
    fitting = search_names(regex, _names_of(record.resources))
    return [one for one, fits in zip(record.resources, fitting, strict=True) if fits]


def misfit_text(built: Built) -> str:
    """Returns why the expression of a compiled rung matches none of its kernels, with similar names; else nothing."""
    record, kernel = built.record, built.kernel
    if record is None or not record.resources or not kernel.regex or kernel.needs or own_resources(built):
        return ""  # a rung that needs a library runs kernels that were compiled elsewhere
    regex = kernel.regex

    def likeness(name: str) -> int:
        return SequenceMatcher(None, regex, name, autojunk=False).find_longest_match().size

    names = [
        cut(name, _NAME_WIDTH) for name in sorted(_names_of(record.resources), key=likeness, reverse=True)
    ]
    return f"'{regex}' matches no kernel that was compiled: {first_of(names, _MOST_NAMED)}"


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
    """Yields the demanglers. The toolkit's own writes `<(int)4>` as ncu does; `c++filt` writes `<4>`."""
    yield from (tool for tool in toolkit_candidates("cu++filt", os.environ) if tool.is_file())
    if found := shutil.which("c++filt"):
        yield Path(found)
