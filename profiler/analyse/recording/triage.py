"""Lists the kernels of several recordings together, the one whose first change is likely to save most first: where to begin.

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
from profiler.analyse.recording.index import (
    IndexEntry,
    LikelySavesNs,
    headline_of_index,
    index_of,
    likely_saves_ns,
)
from profiler.analyse.recording.kernel_names import called_name
from profiler.analyse.recording.overview import SheetFinding
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
    likely_saves_ns: LikelySavesNs


class Triage(Struct, frozen=True):
    """Every kernel of several recordings, the one in which one change is likely to save most first (`prof show` of several)."""

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
    ranked = sorted(sheets, key=lambda one: -(one[1].total_ns or 0.0))
    entries = index_of(sheet for _, sheet in ranked)
    found = [_Found(source, sheet, entry) for (source, sheet), entry in zip(ranked, entries, strict=True)]
    recordings = len({one.source for one in found})
    headline = _headline(found, recordings, has_counters)
    begun = sorted(found, key=lambda one: _where_to_begin(one.sheet))
    return Triage(headline, list(map(_triaged, begun)), recordings, [*cautions, *_cautions(found)])


def in_order(sheets: Iterable[tuple[str, SheetFinding]]) -> list[SheetFinding]:
    """Returns the sheets of several recordings in the order of their index."""
    return sorted((sheet for _, sheet in sheets), key=_where_to_begin)


def _where_to_begin(sheet: SheetFinding) -> tuple[float, float]:
    return -(likely_saves_ns(sheet) or 0.0), -(sheet.total_ns or 0.0)


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


def _headline(found: Sequence[_Found], recordings: int, has_counters: bool) -> Headline | None:
    if not found:
        return None
    begin = min(range(len(found)), key=lambda place: _where_to_begin(found[place].sheet))
    first = found[begin]
    said = headline_of_index(
        first.source,
        [one.entry for one in found],
        [one.sheet for one in found],
        has_counters=has_counters,
        recordings=recordings,
        within=[one.sheet.kernel for one in found if one.source == first.source],
        begin=begin,
    )
    if said is None or recordings == 1 or first.entry.share_pct is None:
        return said
    return Headline(
        said.what, f"In {report_name(first.source)}, {said.why}{_most_saved(found, first)}", said.next
    )


def _most_saved(found: Sequence[_Found], first: _Found) -> str:
    """Returns the sentence on why the first kernel is not the longest one, if it is not."""
    saves_ns = likely_saves_ns(first.sheet)
    if first is found[0] or saves_ns is None:
        return ""
    longest = f"{called_name(found[0].sheet.kernel)} in {report_name(found[0].source)}"
    return f" Removing that is likely to save {duration(saves_ns)}, more than one change of {longest}, which takes longest."


def _cautions(found: Sequence[_Found]) -> list[str]:
    gpus = dict.fromkeys(short_gpu(one.sheet.gpu) for one in found)
    return [f"recorded on different GPUs: {', '.join(gpus)}"] if len(gpus) > 1 else []
