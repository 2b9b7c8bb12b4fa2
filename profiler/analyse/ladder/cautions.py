"""Says what to doubt in the steps of a ladder, once for all rungs of which it holds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from profiler.analyse.findings import Speedup
from profiler.catalog.ladders.ladder import spans_text


class Doubted(Protocol):
    """The part of a rung, or of the idea that it adds, that its cautions need."""

    @property
    def kernel(self) -> int: ...
    @property
    def speedup(self) -> Speedup | None: ...
    @property
    def warnings(self) -> list[str]: ...


def cautions_of(rungs: Sequence[Doubted]) -> list[str]:
    """Returns each caution with the numbers of its rungs; one that all steps share has none."""
    steps = [rung.kernel for rung in rungs if rung.speedup]
    cautions: dict[str, list[int]] = {}
    for rung in rungs:
        for warning in rung.warnings:
            cautions.setdefault(warning, []).append(rung.kernel)
    return [
        warning if which == steps else f"rung{'s' if len(which) > 1 else ''} {spans_text(which)}: {warning}"
        for warning, which in cautions.items()
    ]
