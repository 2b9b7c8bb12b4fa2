"""The sheet of each kernel of a recording, and the index that lists all kernels by their share of the time.

Sheets in; the index out, which `prof show` begins with, each kernel with its top cause, and the sentences above it.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Annotated

from msgspec import Meta, Struct

from profiler.analyse.agreed_names import WithAgreedNames
from profiler.analyse.causes.cause import Cause, Headline
from profiler.analyse.causes.headline import (
    NOTHING_RECORDED,
    has_place,
    hidden_text,
    record_it_text,
    whole_place_text,
)
from profiler.analyse.importance import Importance
from profiler.analyse.recording.kernel_names import called_name, choice_of
from profiler.analyse.recording.launch_shapes import LaunchShape
from profiler.catalog.metrics import HEADLINE
from profiler.text import counted, duration

_MOST = 0.8


class SheetMetric(Struct, frozen=True):
    """Mean of the means of processes; `spread` is the standard deviation of all launches, null with one launch."""

    name: str
    unit: str
    mean: float
    spread: Annotated[
        float | None,
        Meta(description="Standard deviation of all launches, in the metric's unit; null with one launch."),
    ]
    launches: int
    ncu: str


class SheetRule(Struct, frozen=True):
    """It may point at a source line, or at an instruction by its offset in bytes."""

    section: str
    kind: str
    message: str
    speedup_pct: float | None
    file: str | None = None
    line: int | None = None
    offset: int | None = None


class HotLine(Struct, frozen=True):
    """A source line with its share of the kernel's samples, and the share of each main reason to wait in its own samples.

    `ready_pct` of its samples found a warp that could go on.
    """

    file: str
    line: int
    share_pct: float
    stalls: dict[str, float]
    text: str | None
    ready_pct: float = 0.0


def _says_most(metric: SheetMetric, sheet: SheetFinding, _: object) -> int:
    """Ranks the headline's metrics in their order, then those that the causes and the cautions mention."""
    if metric.name in HEADLINE:
        return HEADLINE.index(metric.name)
    is_evidence = any(metric.name in cause.evidence for cause in sheet.causes)
    is_doubted = any(metric.name in caution for caution in sheet.cautions)
    return len(HEADLINE) + (not (is_evidence or is_doubted))


class SheetFinding(WithAgreedNames, Struct, frozen=True):
    """`nvtx` holds the NVTX ranges around the launches, each nesting once: `outer > inner`; `shapes` how they were launched.

    `launches` and `total_ns` cover all launches; everything else covers those of the shape that takes most of the time.
    """

    kernel: str
    launches: int
    gpu: str
    nvtx: Annotated[list[str], Importance(84, each=2)]
    metrics: Annotated[list[SheetMetric], Importance(97, each=1.2, by=_says_most)]
    rules: Annotated[list[SheetRule], Importance(84, each=3)]
    rules_left_out: int = 0
    cautions: Annotated[list[str], Importance(99, each=1)] = []
    shapes: list[LaunchShape] = []
    headline: Headline | None = None
    causes: Annotated[list[Cause], Importance(98, each=3)] = []
    causes_unseen: Annotated[list[str], Importance(86, each=1)] = []
    hot_lines: Annotated[list[HotLine], Importance(93, each=2)] = []
    total_ns: float | None = None
    kernel_name: str = ""


class IndexEntry(WithAgreedNames, Struct, frozen=True, omit_defaults=True):
    """`total_ns` is of all launches; `top_cause` is null where none was found. `where` is the cause's source line or instruction."""

    kernel: str
    launches: int
    total_ns: float | None
    share_pct: float | None
    top_cause: str | None
    where: str | None
    nvtx: list[str] = []
    kernel_name: str = ""


def index_of(sheets: Iterable[SheetFinding]) -> list[IndexEntry]:
    """Returns an entry for each kernel, the one that takes most of the time first."""
    sheets = list(sheets)
    total_ns = sum(sheet.total_ns or 0.0 for sheet in sheets)
    entries = [_entry(sheet, total_ns) for sheet in sheets]
    return sorted(entries, key=lambda one: -(one.total_ns or 0.0))


def _entry(sheet: SheetFinding, total_ns: float) -> IndexEntry:
    first = next(iter(sheet.causes), None)
    return IndexEntry(
        kernel=sheet.kernel,
        launches=sheet.launches,
        total_ns=sheet.total_ns,
        share_pct=100 * sheet.total_ns / total_ns if sheet.total_ns and total_ns > 0 else None,
        top_cause=first.cause if first else None,
        where=whole_place_text(first.where[0]) if first and has_place(first) else None,
        nvtx=sheet.nvtx,
    )


def headline_of_index(
    label: str,
    index: Sequence[IndexEntry],
    sheets: Sequence[SheetFinding],
    *,
    has_counters: bool,
    recordings: int = 1,
    within: Sequence[str] | None = None,
) -> Headline | None:
    """Returns the headline of several kernels: how long they take, why the first does, and what to ask next.

    Of several `recordings`, `label` is that of the first kernel, and `within` are the kernels that it holds.
    """
    if not index:
        return None
    timed = [one for one in index if one.share_pct is not None]
    launches = counted(sum(one.launches for one in index), "launch", "launches")
    kernels = counted(len(index), "kernel", "kernels")
    if recordings > 1:
        kernels += f" of {recordings} recordings"
    if not timed:
        what = f"How long the {kernels} take in their {launches} is not recorded."
        return Headline(what, NOTHING_RECORDED, record_it_text())
    total_ns = sum(one.total_ns or 0.0 for one in timed)
    shares = enumerate(accumulate(one.share_pct or 0.0 for one in timed), 1)
    longest, reached = next(one for one in shares if one[1] >= 100 * _MOST)
    which = "one of them takes" if longest == 1 else f"{longest} of them take"
    take = f"; {which} {reached:.0f} % of it" if longest < len(timed) else ""
    how = "under" if has_counters else "without"
    take_all = "takes" if len(index) == 1 else "take"
    what = f"{kernels} {take_all} {duration(total_ns)} {how} the profiler in {launches}{take}."
    top = max(sheets, key=lambda sheet: sheet.total_ns or 0.0)
    beside = [one.kernel for one in index] if within is None else within
    choice = f" {choice_of(top.kernel, beside)}" if len(beside) > 1 else ""
    return Headline(what, _why(called_name(top.kernel), timed[0], top), _next(label, choice, top))


def _why(name: str, entry: IndexEntry, top: SheetFinding) -> str:
    share = f"{name} takes {entry.share_pct:.0f} % of the time"
    if not top.causes:
        return f"{share}. {top.headline.why}" if top.headline else f"{share}."
    where = f" at {entry.where}" if entry.where else ""
    hidden = hidden_text(top.causes, top.causes_unseen)
    return f"{share}, by {top.causes[0].cause}{where}: {top.causes[0].sentence}{hidden}"


def _next(label: str, choice: str, top: SheetFinding) -> str:
    try_ = top.causes[0].try_ if top.causes else top.headline.next if top.headline else ""
    return f"{try_} `prof show {shlex.quote(label)}{choice}` shows all about it.".lstrip()
