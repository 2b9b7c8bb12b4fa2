"""The views of a report as documents: a whole ladder or what was recorded, each kernel, and each pair."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import groupby
from pathlib import PurePath
from types import MappingProxyType

from msgspec.structs import replace

from profiler.analyse.causes.cause import Headline
from profiler.analyse.code.machine_code import CodeView
from profiler.analyse.findings import ComparisonFinding
from profiler.analyse.ladder.climb import LadderSheet
from profiler.analyse.ladder.roofline import Roofline
from profiler.analyse.recording.index import IndexEntry, index_of, likely_saves_ns
from profiler.analyse.recording.kernel_names import plain_name
from profiler.analyse.recording.profile import Profile
from profiler.analyse.recording.triage import triage
from profiler.analyse.report import KernelFindings, PairFindings, headline_of_steps
from profiler.catalog.metrics import DURATION
from profiler.errors import ReportError
from profiler.present import document as doc
from profiler.present.documents.code import code_heading, code_sections
from profiler.present.documents.comparison import claim_text, comparison_document
from profiler.present.documents.ladder import ladder_document
from profiler.present.documents.parts.causes import headline_blocks, why_and_next
from profiler.present.documents.parts.source_rows import LoopSource, source_code
from profiler.present.documents.parts.times import WHICH_MEDIAN, WHICH_TIME, timing_facts
from profiler.present.documents.recording import (
    origin_section,
    parts_of_kernel,
    profiled_duration_ns,
    profiled_facts,
    timing_section,
)
from profiler.present.documents.triage import SHARES_MEANING
from profiler.text import first_of, short_gpu, shortened

_NAME_WIDTH = 80
_MOST_UNRELATED = 3
_RECORDING_COLUMNS = (
    doc.Column("view", "number"),
    doc.Column("recording", folds=True),
    doc.Column("share, %", "share", bars=True),
    doc.Column("total", "duration"),
    doc.Column("likely saves", "duration"),
    doc.Column("time", "duration"),
    doc.Column("profiled", "duration"),
    doc.Column("step", "ratio"),
    doc.Column("top cause", kept=True),
    doc.Column("GPU"),
    doc.Column("launches", "number"),
    doc.Column("kernel", folds=True),
)
_UNRELATED = "{} and {} have no kernel of the same name, so they are not compared. Name two kernels with -k PATTERN to compare them."
_ALL_UNRELATED = (
    "Not compared, since they have no kernel of the same name: {}. `prof report --force` takes single kernels for versions of one, and "
    "`prof compare A B` compares any two."
)
_NOT_COMPARED = "{} and {} are not compared: {}."
_REFUSED = "The two were measured in different ways, so they are not compared."


def recordings_document(
    kernels: Sequence[KernelFindings],
    pairs: Sequence[PairFindings],
    unrelated: Sequence[tuple[str, str]] = (),
    left_out: Mapping[str, ReportError] = MappingProxyType({}),
) -> doc.Document:
    """Returns a row for each kernel of the recordings that a user named, with the step from the one before.

    The kernels of one recording, or of several of which neighbours are `unrelated`, are parts of a whole: they have shares of its
    time, the answer says where to begin, and the kernel that takes most comes first. Other recordings are versions of one kernel: the
    answer says how much faster the last one is. Notes name the pairs that are not compared, and the reports that are `left_out`
    because they cannot be read.
    """
    recordings = _Recordings(kernels)
    begins = bool(unrelated) or len(recordings.groups) == 1  # with what takes most of the time
    answer = recordings.where_to_begin() if begins else headline_of_steps(kernels, pairs)
    opening = headline_blocks(answer)
    if len(pairs) == 1 and pairs[0].comparison and len(kernels) == 2:
        opening = opening[:1]  # the page opens on the comparison, which says why and what comes next
    shares = {
        anchor: entry
        for whole in ([kernels] if unrelated else recordings.groups)
        for anchor, entry in _shares(whole).items()
    }
    steps = {pair.after: _step(pair) for pair in pairs}
    rows = [
        doc.Row(recordings.cells(one, shares.get(one.anchor), steps.get(one.anchor)))
        for one in (_by_time(kernels) if begins else kernels)
    ]
    columns = list(_RECORDING_COLUMNS)
    if len(recordings.groups) <= 1 and len(kernels) != 1:
        columns[1] = doc.Column("kernel", folds=True)
    table = doc.Table(columns, rows, drops_empty=True)
    notes = map(doc.Text, _notes_on(kernels, pairs, unrelated))
    cautions = [doc.Caution(_left_out(path, error)) for path, error in left_out.items()]
    return doc.Document("At a glance", [opening, *([cautions] if cautions else []), [table, *notes]])


def _left_out(path: str, error: ReportError) -> str:
    """Returns why a report is left out, without the folders of its author."""
    file = PurePath(path)
    what = error.message.removesuffix(error.near).removeprefix(f"{file}: ")
    return f"left out: {file.name}: {what}"


def _notes_on(
    kernels: Sequence[KernelFindings], pairs: Sequence[PairFindings], unrelated: Sequence[tuple[str, str]]
) -> Iterator[str]:
    if unrelated:
        yield SHARES_MEANING
    if len(unrelated) == 1:
        yield _UNRELATED.format(*unrelated[0])
    elif unrelated:
        yield _ALL_UNRELATED.format(first_of([" and ".join(two) for two in unrelated], _MOST_UNRELATED, "; "))
    if any(map(_is_timed_alone, pairs)):
        yield f"time: {WHICH_TIME}"
    names = {one.anchor: one.name for one in kernels}
    for pair in pairs:
        if pair.refused:
            reasons = "; ".join(map(str.strip, pair.refused))
            yield _NOT_COMPARED.format(names[pair.before], names[pair.after], reasons)


@dataclasses.dataclass(frozen=True)
class _Recordings:
    """The kernels of a page, and what a row about one of them depends on."""

    kernels: Sequence[KernelFindings]

    @cached_property
    def groups(self) -> list[list[KernelFindings]]:
        """Returns the kernels of each recording."""
        return [list(group) for _, group in groupby(self.kernels, key=lambda one: id(one.run))]

    @cached_property
    def are_of_many_gpus(self) -> bool:
        return len(set(map(_gpu, self.kernels))) > 1

    @cached_property
    def are_repeated(self) -> bool:
        """Returns whether any kernel is launched again; its time is its total if none is."""
        return any(one.sheet and one.sheet.launches > 1 for one in self.kernels)

    def where_to_begin(self) -> Headline | None:
        sheets = [(self.source(one), one.sheet) for one in self.kernels if one.sheet]
        has_counters = all(one.run.manifest.has_counters for one in self.kernels)
        return triage(sheets, has_counters=has_counters).headline

    def source(self, found: KernelFindings) -> str:
        """Returns what to call a kernel's recording: a report by its file's name, unless another of the page has the same."""
        run = found.run
        if run.stored:
            return run.label
        name = PurePath(run.label).name
        names = [PurePath(group[0].run.label).name for group in self.groups if not group[0].run.stored]
        return name if names.count(name) == 1 else run.label

    def called(self, found: KernelFindings) -> str:
        """Returns the name of a row: that of the recording where one of several has several kernels, else the kernel's."""
        of_several = any(group[0].run is found.run and len(group) > 1 for group in self.groups)
        return self.source(found) if of_several and len(self.groups) > 1 else found.name

    def cells(
        self, found: KernelFindings, entry: IndexEntry | None, step: doc.Linked | None
    ) -> tuple[str | float | doc.Linked | None, ...]:
        """Returns the row of one kernel. The GPU of all of them stands above the views, so only differing ones are repeated."""
        name, sheet, has_counters = self.called(found), found.sheet, found.run.manifest.has_counters
        took = profiled_duration_ns(sheet) or None
        alone = None if has_counters else took  # without the profiler
        kernel = shortened(plain_name(sheet.kernel), _NAME_WIDTH) if sheet else ""
        return (
            doc.Linked(found.anchor, found.anchor),
            doc.Linked(shortened(name, _NAME_WIDTH), found.anchor),
            entry.share_pct if entry else None,
            sheet.total_ns if sheet and self.are_repeated else None,
            likely_saves_ns(sheet) if sheet else None,
            (found.timing.timing.typical_ns if found.timing else alone) or None,
            took if has_counters else None,
            step,
            sheet.causes[0].cause if sheet and sheet.causes else "",
            short_gpu(_gpu(found)) if self.are_of_many_gpus else "",
            sheet.launches if sheet else None,
            kernel if kernel not in (name, plain_name(name)) else "",
        )


def _by_time(kernels: Sequence[KernelFindings]) -> list[KernelFindings]:
    return sorted(kernels, key=lambda one: -((one.sheet and one.sheet.total_ns) or 0.0))


def _shares(kernels: Sequence[KernelFindings]) -> dict[str, IndexEntry]:
    """Returns each kernel's share of the recording's time, by its anchor; nothing for a single kernel, which takes all."""
    sheets = {one.anchor: one.sheet for one in _by_time(kernels) if one.sheet}
    return dict(zip(sheets, index_of(sheets.values()), strict=True)) if len(sheets) > 1 else {}


def overview_document(sheet: LadderSheet, roofline: Roofline | None, others: Sequence[str]) -> doc.Document:
    """Returns the ladder as `prof ladder` prints it, and its charts."""
    document = ladder_document(sheet.ladder, others, reference=sheet.reference)
    charts = [
        doc.Chart("ladder_times_chart", sheet.ladder),
        doc.Chart("steps_chart", sheet),
        doc.Chart("rung_stalls_chart", sheet),
        *([doc.Chart("roofline_chart", roofline, otherwise="roofline_sentence")] if roofline else []),
        doc.Chart("profiler_effect_chart", sheet.ladder),
    ]
    answer, *others_sections = document.sections
    sections = [answer, [doc.Chart("reference_chart", sheet.ladder)], *others_sections, charts]
    return replace(document, title="The ladder at a glance", sections=sections)


def _gpu(found: KernelFindings) -> str:
    return found.sheet.gpu if found.sheet else ", ".join(found.run.manifest.gpus)


def _step(pair: PairFindings) -> doc.Linked | None:
    """Returns the speedup over the recording before."""
    speedup = pair.comparison.speedup if pair.comparison else None
    return doc.Linked(speedup.ratio, f"{pair.before}-{pair.after}") if speedup else None


def kernel_document(found: KernelFindings, headline: Sequence[str]) -> doc.Document:
    """Returns one kernel of one recording: its times, its findings, its code and its origin."""
    code = doc.under(code_heading(found.code.finding), code_sections(found.code)) if found.code else []
    code.append(_source_section([found], found.code))
    if found.lines is not None and found.lines.samples:
        code.append([doc.Heading("Hot source lines"), doc.Chart("source_lines_chart", found.lines)])
    launches = _launches(found.profile) if found.profile else []
    times, origin = timing_section(found.timing), origin_section(found.run)
    if found.sheet is None:
        answer = [headline_blocks(found.timing.headline)] if found.timing else []
        return doc.Document(found.name, [*answer, times, origin])
    parts = parts_of_kernel(
        found.sheet,
        headline,
        launches=launches,
        code=code,
        left_out=found.metrics_left_out,
        manifest=found.run.manifest,
    )
    on_paper = [parts.headline, parts.name, times, parts.cautions, *parts.reasons]
    return doc.Document(found.name, [*on_paper, *parts.figures, origin], on_paper=len(on_paper))


def _source_section(kernels: Sequence[KernelFindings], code: CodeView | None) -> doc.Section:
    """Returns the source of the hot loops beside their machine code, if all kernels have both."""
    sides = [
        LoopSource(one.name, region, one.lines, one.sheet.causes if one.sheet else ())
        for one, region in zip(kernels, code.regions if code else (), strict=False)
        if one.lines is not None
    ]
    block = source_code(sides) if len(sides) == len(kernels) else None
    return [doc.Heading("Source beside machine code"), block] if block else []


def _launches(profile: Profile) -> doc.Section:
    """Returns the chart of the launches; a single launch has no scatter to show."""
    took = profile.series.get(DURATION)
    if profile.launches < 2 or took is None:
        return []
    return [doc.Chart("launches_chart", took.values, {"label": profile.label})]


def pair_document(
    pair: PairFindings, before: KernelFindings, after: KernelFindings, headline: Sequence[str]
) -> doc.Document:
    """Returns the comparison of two kernels, or of their times alone, or why there is none."""
    title = f"{before.name} → {after.name}"
    times: doc.Section = [doc.Heading("Duration and useful work"), _times(before, after)]
    if _is_timed_alone(pair):
        times = [*times, doc.Text(f"median: {WHICH_MEDIAN}")]
    if pair.comparison is None:
        claim = doc.Text(_REFUSED if pair.refused else claim_text(pair.headline), strong=True)
        reasons = [doc.Text(one) for one in pair.refused]
        opening = [claim, *why_and_next(pair.headline), *map(doc.Caution, pair.warnings)]
        return doc.Document(title, [opening, reasons, times])
    shown = _without_folders(pair.comparison, before, after)
    document = comparison_document(shown, drawn=headline, code=pair.code)
    answer, cautions, *others = document.sections
    picture: doc.Section = [doc.Chart("spent_chart", pair.comparison)]
    source = _source_section([before, after], pair.code)
    on_paper = [answer, cautions, picture]
    sections = [*on_paper, times, *others, source]
    return replace(document, title=title, sections=sections, on_paper=len(on_paper))


def _without_folders(
    comparison: ComparisonFinding, before: KernelFindings, after: KernelFindings
) -> ComparisonFinding:
    """Returns the comparison of reports by the names of their files: a page is sent to others."""
    sides = {
        side: replace(getattr(comparison, side), label=PurePath(found.run.label).name)
        for side, found in (("before", before), ("after", after))
        if not found.run.stored
    }
    return replace(comparison, **sides)


def _is_timed_alone(pair: PairFindings) -> bool:
    """Returns whether the sides are compared by their times without the profiler."""
    speedup = pair.comparison.speedup if pair.comparison else None
    return speedup is not None and speedup.basis == "unprofiled"


def _times(before: KernelFindings, after: KernelFindings) -> doc.Table:
    """Returns the times of both sides, without the profiler and under it."""
    sides = [
        dict([*(timing_facts(one.timing) if one.timing else []), *profiled_facts(one.sheet)])
        for one in (before, after)
    ]
    columns = [doc.Column("time and work"), *(doc.Column(one.name, folds=True) for one in (before, after))]
    names = dict.fromkeys(name for side in sides for name in side)
    return doc.Table(columns, [doc.Row((name, *(side.get(name, "") for side in sides))) for name in names])
