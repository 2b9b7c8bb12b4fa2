"""Lists the kernels of several recordings together, the one that takes most of the time first: where to begin.

Their sheets in; one index with its sentences out. `prof show` of several prints it, and a page of several opens with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated

from msgspec import Meta, Struct

from profiler.analyse.causes.cause import Headline
from profiler.analyse.findings import ALL_KERNELS, SCHEMA_VERSION, LeftOut
from profiler.analyse.importance import Importance
from profiler.analyse.recording.index import IndexEntry, headline_of_index, index_of
from profiler.analyse.recording.kernel_names import called_name
from profiler.analyse.recording.overview import SheetFinding
from profiler.catalog.causes import TOO_SHORT
from profiler.text import duration, report_name, short_gpu


class TriagedKernel(Struct, frozen=True):
    """A kernel with its share of the time of all recordings; `source` names its recording, as `prof show` takes it."""

    source: str
    kernel_name: str
    gpu: str
    launches: int
    total_ns: float | None
    share_pct: Annotated[
        float | None,
        Meta(
            description="Of the launches that were recorded, which may be few of those that a program makes."
        ),
    ]
    top_cause: str | None
    where: str | None
    likely_saves_ns: Annotated[
        float | None,
        Meta(
            description="What removing the top cause is likely to save of the total; null where that is not known, or nothing. "
            "Launches that are too short are joined into one, whose start stays."
        ),
    ]


class Triage(Struct, frozen=True):
    """Every kernel of several recordings, the one that takes most of the time first (`prof show` of several)."""

    headline: Headline | None
    index: Annotated[list[TriagedKernel], Importance(ALL_KERNELS, keeps_order=True)]
    recordings: int
    cautions: Annotated[list[str], Importance(99, each=1)]
    schema_version: int = SCHEMA_VERSION
    left_out: LeftOut = {}


@dataclass(frozen=True)
class _Found:
    source: str
    sheet: SheetFinding
    entry: IndexEntry


def triage(
    sheets: Iterable[tuple[str, SheetFinding]], *, has_counters: bool, cautions: Sequence[str] = ()
) -> Triage:
    """Returns the kernels of several recordings, each of which comes with what a person calls its recording."""
    ranked = by_time(sheets)
    entries = index_of(sheet for _, sheet in ranked)
    found = [_Found(source, sheet, entry) for (source, sheet), entry in zip(ranked, entries, strict=True)]
    recordings = len({one.source for one in found})
    headline = _headline(found, recordings, has_counters)
    return Triage(headline, list(map(_triaged, found)), recordings, [*cautions, *_cautions(found)])


def by_time(sheets: Iterable[tuple[str, SheetFinding]]) -> list[tuple[str, SheetFinding]]:
    """Returns the sheets of several recordings in the order of their index."""
    return sorted(sheets, key=lambda one: -(one[1].total_ns or 0.0))


def _triaged(one: _Found) -> TriagedKernel:
    entry = one.entry
    return TriagedKernel(
        source=one.source,
        kernel_name=entry.kernel,
        gpu=one.sheet.gpu,
        launches=entry.launches,
        total_ns=entry.total_ns,
        share_pct=entry.share_pct,
        top_cause=entry.top_cause,
        where=entry.where,
        likely_saves_ns=likely_saves_ns(one.sheet),
    )


def likely_saves_ns(sheet: SheetFinding) -> float | None:
    """Returns what removing the top cause of a kernel is likely to save of the total of its launches."""
    first = next(iter(sheet.causes), None)
    if first is None or sheet.total_ns is None:
        return None
    part = first.saves_pct.expected / 100
    if first.cause == TOO_SHORT:  # of launches that are joined, one still has to start
        part *= 1 - 1 / sheet.launches
    return sheet.total_ns * part or None


def _headline(found: Sequence[_Found], recordings: int, has_counters: bool) -> Headline | None:
    if not found:
        return None
    first = found[0]
    said = headline_of_index(
        first.source,
        [one.entry for one in found],
        [one.sheet for one in found],
        has_counters=has_counters,
        recordings=recordings,
        within=[one.sheet.kernel for one in found if one.source == first.source],
    )
    if said is None or recordings == 1 or first.entry.share_pct is None:
        return said
    return Headline(
        said.what, f"In {report_name(first.source)}, {said.why}{_largest_saving(found)}", said.next
    )


def _largest_saving(found: Sequence[_Found]) -> str:
    """Returns the sentence about the kernel in which one change is likely to save most, if it is not the longest."""
    best = max(found, key=lambda one: likely_saves_ns(one.sheet) or 0.0)
    saves_ns = likely_saves_ns(best.sheet)
    if best is found[0] or not saves_ns:
        return ""
    which = f"{called_name(best.sheet.kernel)} in {report_name(best.source)}"
    return f" The most that one change is likely to save is {duration(saves_ns)}, of {which}: {best.sheet.causes[0].cause}."


def _cautions(found: Sequence[_Found]) -> list[str]:
    gpus = dict.fromkeys(short_gpu(one.sheet.gpu) for one in found)
    return [f"recorded on different GPUs: {', '.join(gpus)}"] if len(gpus) > 1 else []
