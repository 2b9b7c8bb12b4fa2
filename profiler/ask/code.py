"""Finds the machine code of one kernel, or of two side by side."""

from __future__ import annotations

from profiler.analyse.code.machine_code import View, view_machine_code
from profiler.ask.named.references import open_named
from profiler.ask.named.settings import Settings
from profiler.ask.profiles import profile_one, profile_pairs


def find_machine_code(
    before: str,
    after: str | None,
    settings: Settings,
    *,
    kernel_name: str | None = None,
    nvtx: str | None = None,
    whole: bool = False,
    size: str | int | None = None,
) -> View:
    """Returns the hot loop, or the `whole` function, of one kernel or of two."""
    references = [before] if after is None else [before, after]
    runs = open_named(references, settings, size=size, nvtx=nvtx, code=True)
    if len(runs) == 1:
        return view_machine_code([profile_one(runs[0], settings, kernel_name)], whole=whole)
    (pair,) = profile_pairs(runs[0], runs[1], settings, kernel_name, every=False)
    return view_machine_code(pair, whole=whole)
