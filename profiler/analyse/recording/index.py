"""Lists all kernels of a recording by their share of the time, each with its top cause.

Sheets in; the index out, which `prof show` begins with, and the sentences above it.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Annotated, Protocol

from msgspec import Meta, Struct

from profiler.analyse.agreed_names import WithAgreedNames
from profiler.analyse.causes.cause import Cause, Headline, whole_place_text
from profiler.analyse.causes.headline import (
    NOTHING_RECORDED,
    advice_text,
    hidden_text,
    instead_of_editing,
    main_place,
    record_it_text,
)
from profiler.analyse.recording.kernel_names import called_name, choice_of
from profiler.catalog.causes import TOO_SHORT
from profiler.text import counted, duration

_MOST = 0.8
LikelySavesNs = Annotated[
    float | None,
    Meta(
        description="What removing the top cause is likely to save of the total; null where that is not known, or nothing. "
        "Launches that are too short are joined into one, whose start stays."
    ),
]


class Indexed(Protocol):
    """The part of a kernel's sheet that the index needs."""

    @property
    def kernel(self) -> str: ...
    @property
    def launches(self) -> int: ...
    @property
    def nvtx(self) -> list[str]: ...
    @property
    def causes(self) -> list[Cause]: ...
    @property
    def causes_unseen(self) -> list[str]: ...
    @property
    def headline(self) -> Headline | None: ...
    @property
    def total_ns(self) -> float | None: ...


class IndexEntry(WithAgreedNames, Struct, frozen=True, omit_defaults=True):
    """`total_ns` is of all launches; `top_cause` is null where none was found. `where` is the cause's source line or instruction.

    `likely_saves_ns` is left out for an only kernel, whose causes say it.
    """

    kernel: str
    launches: int
    total_ns: float | None
    share_pct: float | None
    top_cause: str | None
    where: str | None
    nvtx: list[str] = []
    kernel_name: str = ""
    likely_saves_ns: LikelySavesNs = None


def index_of(sheets: Iterable[Indexed]) -> list[IndexEntry]:
    """Returns an entry for each kernel, the one that takes most of the time first."""
    sheets = list(sheets)
    total_ns = sum(sheet.total_ns or 0.0 for sheet in sheets)
    entries = [_entry(sheet, total_ns, len(sheets) > 1) for sheet in sheets]
    return sorted(entries, key=lambda one: -(one.total_ns or 0.0))


def _entry(sheet: Indexed, total_ns: float, is_one_of_several: bool) -> IndexEntry:
    first = next(iter(sheet.causes), None)
    return IndexEntry(
        kernel=sheet.kernel,
        launches=sheet.launches,
        total_ns=sheet.total_ns,
        share_pct=100 * sheet.total_ns / total_ns if sheet.total_ns and total_ns > 0 else None,
        top_cause=first.cause if first else None,
        where=whole_place_text(place) if first and (place := main_place(first)) else None,
        nvtx=sheet.nvtx,
        likely_saves_ns=likely_saves_ns(sheet) if is_one_of_several else None,
    )


def likely_saves_ns(sheet: Indexed) -> float | None:
    """Returns what removing the top cause of a kernel is likely to save of the total of its launches."""
    first = next(iter(sheet.causes), None)
    if first is None or sheet.total_ns is None:
        return None
    part = first.saves_pct.expected / 100
    if first.cause == TOO_SHORT:  # of launches that are joined, one still has to start
        part *= 1 - 1 / sheet.launches
    return sheet.total_ns * part or None


def headline_of_index(
    label: str,
    index: Sequence[IndexEntry],
    sheets: Sequence[Indexed],
    *,
    has_counters: bool,
    recordings: int = 1,
    within: Sequence[str] | None = None,
    begin: int = 0,
) -> Headline | None:
    """Returns the headline of several kernels: how long they take, why that one to `begin` with does, and what to ask next.

    The `index` and its `sheets` have the longest kernel first. If there are several `recordings`, `label` is that of the kernel to begin
    with, and `within` are the kernels that it holds.
    """
    if not index:
        return None
    timed = [one for one in index if one.share_pct is not None]
    told = timed or index
    launches = counted(sum(one.launches for one in told), "launch", "launches")
    kernels = counted(len(told), "kernel", "kernels")
    if recordings > 1:
        kernels += f" of {recordings} recordings"
    if not timed:
        what = f"How long the {kernels} take in their {launches} is not recorded."
        return Headline(what, NOTHING_RECORDED, record_it_text())
    take, how = "takes" if len(timed) == 1 else "take", "under" if has_counters else "without"
    total = duration(sum(one.total_ns or 0.0 for one in timed))
    what = f"{kernels} {take} {total} {how} the profiler in {launches}{_most_of_it(timed)}.{_untimed_text(index)}"
    entry, top = index[begin], sheets[begin]
    beside = [one.kernel for one in index] if within is None else within
    choice = f" {choice_of(top.kernel, beside)}" if len(beside) > 1 else ""
    return Headline(what, _why(called_name(top.kernel), entry, top), _next(label, choice, top))


def _untimed_text(index: Sequence[IndexEntry]) -> str:
    """Returns a further sentence about the kernels whose time is not recorded, as of a program that ended before ncu had measured one."""
    untimed = [called_name(one.kernel) for one in index if one.share_pct is None]
    if len(untimed) > 1:
        return f" How long {len(untimed)} more take is not recorded."
    return f" How long {untimed[0]} takes is not recorded." if untimed else ""


def _most_of_it(timed: Sequence[IndexEntry]) -> str:
    """Returns how many of the kernels take most of the time, the longest first; "" if it takes all of them."""
    shares = enumerate(accumulate(one.share_pct or 0.0 for one in timed), 1)
    longest, reached = next(one for one in shares if one[1] >= 100 * _MOST)
    if longest == len(timed):
        return ""
    return (
        f"; {'one kernel takes' if longest == 1 else f'{longest} kernels take'} {share_text(reached)} % of it"
    )


def share_text(share_pct: float) -> str:
    """Returns a share without decimals, unless it would then be all of it and is not."""
    for digits in (0, 1):
        text = f"{share_pct:.{digits}f}"
        if share_pct >= 100 or float(text) < 100:
            return text
    return "over 99.9"


def _why(name: str, entry: IndexEntry, top: Indexed) -> str:
    share = f"{name} takes {share_text(entry.share_pct or 0.0)} % of the time"
    if not top.causes:
        return f"{share}. {top.headline.why}" if top.headline else f"{share}."
    where = f" at {entry.where}" if entry.where else ""
    hidden = hidden_text(top.causes, top.causes_unseen)
    return f"{share}, by {top.causes[0].cause}{where}: {top.causes[0].sentence}{hidden}"


def _next(label: str, choice: str, top: Indexed) -> str:
    try_ = top.headline.next if top.headline else ""
    if top.causes:
        try_ = f"{advice_text(top.causes)} {instead_of_editing(top.kernel)}".rstrip()
    return f"{try_} `prof show {shlex.quote(label)}{choice}` shows all about it.".lstrip()
