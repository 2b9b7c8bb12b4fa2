"""Finds the compiler's figures for a rung's own kernels, by their names as ncu shows them.

In: what was built. Out: registers, shared memory and spills of each kernel whose name the ladder's expression matches.
The toolkit's `cu++filt` writes the names as ncu does, with `<(int)4>` where C++'s own library writes `<4>`.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from difflib import SequenceMatcher
from functools import cache
from pathlib import Path

from profiler.catalog.patterns import search_names
from profiler.errors import ProfError
from profiler.measuring.rungs.build import Built
from profiler.measuring.tools.mangling import demangled
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


def compiled_facts(built: Built) -> dict[str, int]:
    """Returns the largest figures of `COMPILED` among the rung's own kernels; none if its regular expression matches no kernel."""
    own = own_resources(built)
    if not own:
        return {}
    return {
        "registers": max(one.registers for one in own),
        "shared_bytes": max(one.shared_bytes for one in own),
        "spill_bytes": max(one.spill_store_bytes + one.spill_load_bytes for one in own),
    }


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
    tools = (tool for tool in toolkit_candidates("cu++filt", os.environ) if tool.is_file())
    names = tuple(one.function for one in resources)
    return _demangled_by(tuple(tools), names) or tuple(map(demangled, names))


@cache  # the points of a sweep have the same names
def _demangled_by(tools: Sequence[Path], names: tuple[str, ...]) -> tuple[str, ...] | None:
    for tool in tools:
        with suppress(ProfError):
            answer = run([str(tool), *names], timeout_s=_TIMEOUT_S)
            found = tuple(answer.stdout.splitlines())
            if answer.exit_code == 0 and len(found) == len(names):
                return found
    return None
