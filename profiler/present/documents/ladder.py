"""A ladder as a document: every rung, and its step from the one it follows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from typing import NamedTuple

from msgspec.structs import replace

from profiler.analyse.ladder import ladder
from profiler.analyse.ladder.ideas import IdeasFinding
from profiler.catalog import DEFAULT_LADDER
from profiler.catalog.ladders.ladder import size_text, spans_text
from profiler.present import document as doc
from profiler.present.documents.parts.causes import headline_blocks
from profiler.present.documents.parts.memory import width_text
from profiler.present.documents.parts.times import WHICH_TIME
from profiler.present.documents.parts.verdicts import VERDICT_MARK, VERDICT_TONE
from profiler.text import first_of

_WORK_STAYS = 100  # stays longer than any counter in a narrow window
_GOES_FIRST = (-1, -3, -2)  # work per second, binding and % best, where the counters were asked for
_MOST_OTHERS = 6
_SHOWN_APART = 0.05  # from 100 %, in a column with one decimal
# Of two timings of one call: what is further apart is another call, whatever the ladder says.
_MOST_APART = 2.0


class LadderColumn(NamedTuple):
    """A column of the table, and how to fill it for a rung. A counter's is there if one of its `metrics` is recorded."""

    column: doc.Column
    value: Callable[[ladder.RungFinding], doc.Cell]
    metrics: tuple[str, ...] = ()


def ladder_document(
    finding: ladder.LadderFinding,
    others: Sequence[str],
    ladders: Sequence[str] = (),
    *,
    reference: int | None = None,
    view_was_asked: bool = False,
) -> doc.Document:
    """Returns the ladder; `others` are the other conditions under which runs are stored, and `ladders` the other ladders to offer.

    `reference` is the rung that the ladder declares to be the reference itself.

    Where a person asked for the view, its counters stay in a narrow window, and other columns go.
    """
    stored: list[doc.Block] = []
    if others:
        known = f"also stored (--size and --gpu choose): {first_of(others, _MOST_OTHERS, '; ')}"
        stored.append(doc.Text(known, wraps=False))
    if ladders:
        stored.append(doc.Text(f"other ladders (--ladder chooses): {', '.join(ladders)}"))
    notes = map(doc.Text, _ladder_notes(finding, reference))
    opening = headline_blocks(finding.headline)
    elsewhere = [_elsewhere(finding, one) for one in finding.elsewhere]
    cautions = map(doc.Caution, finding.cautions)
    legend: doc.Section = [*notes, *_counter_legend(finding), *cautions]
    table = _rungs_table(finding, view_was_asked=view_was_asked)
    sections: list[doc.Section] = [opening, [table], *elsewhere, legend, stored]
    return doc.Document(ladder_heading(finding, finding.title), sections, _records(finding), titled=True)


def _rungs_table(finding: ladder.LadderFinding, *, view_was_asked: bool) -> doc.Table:
    columns = _columns(finding, view_was_asked)
    rows = [
        doc.Row([one.value(rung) for one in columns], VERDICT_TONE[rung.verdict] if rung.verdict else "plain")
        for rung in finding.kernels
    ]
    # A rung has one line, so that a reader sees the climb; `prof show` has what a narrow window leaves out.
    shown = [replace(one.column, spare=True) for one in columns]
    return doc.Table(shown, rows, drops_empty=True)


def _elsewhere(finding: ladder.LadderFinding, there: ladder.LadderElsewhere) -> doc.Section:
    """Returns the same rungs on another GPU: their times, their work per second and their speed beside the reference there."""
    names = {one.kernel: one.name for one in finding.kernels}
    names |= {one.kernel: one.name for one in finding.missing}
    fixed = [doc.Column("rung", "number"), doc.Column("name"), doc.Column("time", "duration")]
    work = doc.Column(_work_title(finding), "number")
    columns = [*fixed, work, doc.Column("% ref", "tenths"), doc.Column("% best", "tenths")]
    rows = [
        doc.Row((one.kernel, names.get(one.kernel, ""), one.duration_ns, _work(one, finding), one.reference_pct, one.best_pct))
        for one in there.kernels
    ]  # fmt: skip
    return [doc.Text(f"On {there.gpu}:"), doc.Table(columns, rows, drops_empty=True)]


def _columns(finding: ladder.LadderFinding, view_was_asked: bool) -> list[LadderColumn]:
    work_stays, binding_stays, best_stays = _GOES_FIRST if view_was_asked else (_WORK_STAYS, None, None)
    return [
        LadderColumn(doc.Column("rung", "number"), lambda rung: doc.Linked(rung.kernel, str(rung.kernel))),
        LadderColumn(doc.Column("name"), lambda rung: doc.Linked(rung.name, str(rung.kernel))),
        LadderColumn(doc.Column("time", "duration"), lambda rung: _time(rung, finding)),
        LadderColumn(
            doc.Column(_work_title(finding), "number", work_stays), lambda rung: _work(rung, finding)
        ),
        LadderColumn(doc.Column("% ref", "tenths"), lambda rung: rung.reference_pct),
        LadderColumn(doc.Column("% best", "tenths", best_stays), lambda rung: rung.best_pct),
        LadderColumn(doc.Column("step", "ratio", judges=True), _step),
        *_counter_columns(finding),
        LadderColumn(doc.Column("binding", stays=binding_stays, folds=True), _binding),
    ]


def _work(rung: ladder.RungFinding | ladder.RungElsewhere, finding: ladder.LadderFinding) -> float | None:
    return rung.gflops if _work_title(finding) == "GFLOP/s" else rung.gbytes_per_s


def _work_title(finding: ladder.LadderFinding) -> str:
    """Returns the unit of work per second that suits the view, if known; otherwise the other one."""
    rates = [(rung.gflops, rung.gbytes_per_s) for rung in finding.kernels]
    computes = any(gflops is not None for gflops, _ in rates)
    moves = any(gbytes is not None for _, gbytes in rates)
    return "GFLOP/s" if computes and (finding.view == "compute" or not moves) else "GB/s"


def _binding(rung: ladder.RungFinding) -> str:
    """Returns what binds the profiled kernel, which may be one of several in the rung."""
    text = (rung.binding or "").replace("-", " ")
    return f"{text} (its part)" if text and rung.is_part_of_step else text


def _time(rung: ladder.RungFinding, finding: ladder.LadderFinding) -> doc.Value:
    """Returns the rung's time, with a mark if only the profiler measured it and others were timed without it."""
    if rung.duration_ns is None:
        return None
    mixed = any(one.basis == "unprofiled" for one in finding.kernels)
    return doc.Marked(rung.duration_ns, "*" if mixed and rung.basis == "profiled" else "")


def _step(rung: ladder.RungFinding) -> doc.Cell:
    step: doc.Value = "refused" if rung.refused else None
    if rung.speedup and not rung.refused:
        mark = VERDICT_MARK.get(rung.verdict or "")
        step = doc.Marked(rung.speedup.ratio, f" {mark}" if mark else "")
    return doc.Linked(step, f"{rung.before}-{rung.kernel}")


# Words


def ladder_heading(finding: ladder.LadderFinding | IdeasFinding, title: str) -> str:
    """Returns the ladder's name and the title, with the GPU and the workload."""
    workload = size_text(finding.workload) if finding.workload else "workload not recorded"
    return f"{finding.ladder}: {title} ({finding.gpu}, {workload})"


def _ladder_notes(finding: ladder.LadderFinding, reference: int | None) -> list[str]:
    """Returns what the table leaves unsaid; `reference` is the rung that is the reference itself."""
    rungs = finding.kernels
    profiled = [rung for rung in rungs if rung.basis == "profiled"]
    notes = []
    if profiled and len(profiled) == len(rungs):
        notes.append("time: under the profiler, because these runs store no timings without it")
    elif profiled:
        notes.append(
            "time: without the profiler; * marks a time under the profiler, where no other is stored"
        )
    if any(rung.speedup and rung.speedup.basis == "unprofiled" for rung in rungs):
        notes.append(f"time: {WHICH_TIME}")
    notes += _reference_notes(finding, reference)
    has_work = any((rung.gflops, rung.gbytes_per_s) != (None, None) for rung in rungs)
    if not has_work and not finding.workload:
        notes.append("no work per second: the runs do not record their workload")
    notes += missing_lines(finding)
    for rung in rungs:
        notes += [f"{rung.kernel} against {rung.before} refused: {line}" for line in rung.refused]
    if any(rung.speedup for rung in rungs):
        notes.append(
            f"step: times as fast as the rung before{branches_text(finding)}, "
            f"= if no difference matters, ? if unclear{_why_faster(finding)}"
        )
    return notes


def _reference_notes(finding: ladder.LadderFinding, reference: int | None) -> list[str]:
    """Returns which library's speed is 100 %, and whether that was asked for its fastest algorithm."""
    rungs = finding.kernels
    named = groupby((rung for rung in rungs if rung.reference), key=lambda rung: rung.reference)
    references = ", ".join(
        f"{name}{_numbers([rung.kernel for rung in group], rungs)}" for name, group in named
    )
    if not references:
        return []
    itself = _reference_itself(finding, reference)
    if any(rung.best_pct is not None for rung in rungs):
        return [
            f"% ref: speed in percent of the default call of {references}; % best: in percent of its fastest algorithm, found by measuring",
            *itself,
        ]
    default = any(rung.reference.startswith("cuBLAS") for rung in rungs)
    return [f"% ref: speed in percent of {'the default call of ' if default else ''}{references}", *itself]


def _reference_itself(finding: ladder.LadderFinding, reference: int | None) -> list[str]:
    """Returns why the rung that is the reference itself is not shown at 100 %, where it is not."""
    timed = [rung for rung in finding.kernels if rung.basis == "unprofiled"]
    own = [rung.reference_pct for rung in timed if rung.kernel == reference]
    if not any(pct is not None and _SHOWN_APART <= abs(pct - 100) < _MOST_APART for pct in own):
        return []
    return [
        f"rung {reference} is that reference, timed in turns with itself: it is as far from 100 % as two timings of one call are apart"
    ]


def _why_faster(finding: ladder.LadderFinding) -> str:
    """Returns what explains the largest step, which no table of all rungs has room for."""
    better = [one for one in finding.kernels if one.verdict == "better" and one.speedup]
    if not better:
        return ""
    largest = max(better, key=lambda one: one.speedup.ratio if one.speedup else 0.0)
    which = "" if finding.ladder == DEFAULT_LADDER else f" --ladder {finding.ladder}"
    return f"; `prof compare {largest.before} {largest.kernel}{which}` says why that one is faster"


def missing_lines(finding: ladder.LadderFinding) -> list[str]:
    """Returns the ladder's other rungs, grouped by the reason why they are missing."""
    left_out: dict[str, list[int]] = {}
    for one in finding.missing:
        left_out.setdefault(one.why, []).append(one.kernel)
    return [f"left out ({spans_text(which)}): {why}" for why, which in left_out.items()]


def branches_text(finding: ladder.LadderFinding) -> str:
    """Returns the rungs that do not follow the one before, for the end of a sentence: ` (3, 4: rung 2)`."""
    branches = [
        f"{', '.join(map(str, rungs))}: rung {before}" for before, rungs in finding.branches().items()
    ]
    return f" ({'; '.join(branches)})" if branches else ""


def _numbers(which: Iterable[int], rungs: Sequence[ladder.RungFinding]) -> str:
    """Returns the numbers of the rungs in parentheses; empty if they are all rungs."""
    numbers = list(which)
    if numbers == [rung.kernel for rung in rungs]:
        return ""
    return f" ({numbers[0]})" if len(numbers) == 1 else f" ({numbers[0]} to {numbers[-1]})"


# Records


def _records(finding: ladder.LadderFinding) -> doc.Records:
    """Returns a record for each rung."""
    header = [
        "kernel", "name", "duration_ns", "basis", "gflops", "gbytes_per_s", "reference_pct", "best_pct", "reference",
        "before", "speedup", "speedup_low", "speedup_high", "speedup_basis", "verdict", "binding",
    ]  # fmt: skip
    headline = ladder.HEADLINES[finding.view]
    for metric in headline:
        header += [f"profiled_{metric}" if metric == "duration_ns" else metric]
    for metric in headline:
        header += [f"{metric}_delta", f"{metric}_verdict"]
    rows = [_record(rung, headline) for rung in finding.kernels]
    return doc.Records([*header, "refused", "run_id", "timed_run_id"], rows)


def _record(rung: ladder.RungFinding, headline: Sequence[str]) -> list[doc.Plain]:
    speedup = rung.speedup
    row: list[doc.Plain] = [
        rung.kernel, rung.name, rung.duration_ns, rung.basis, rung.gflops, rung.gbytes_per_s,
        rung.reference_pct, rung.best_pct, rung.reference, rung.before, speedup.ratio if speedup else None,
        *((speedup.ci if speedup else None) or (None, None)), speedup.basis if speedup else None,
        rung.verdict, rung.binding,
    ]  # fmt: skip
    row += [rung.metrics.get(metric) for metric in headline]
    for metric in headline:
        change = rung.delta.get(metric)
        row += [change.delta, change.verdict] if change else [None, None]
    return [*row, "; ".join(rung.refused), rung.run_id, rung.timed_run_id]


def _counter_columns(finding: ladder.LadderFinding) -> list[LadderColumn]:
    """Returns the columns of the finding's view that any rung fills."""
    recorded = {name for rung in finding.kernels for name in rung.metrics}
    return [one for one in _VIEWS[finding.view] if recorded.intersection(one.metrics)]


def _counter_legend(finding: ladder.LadderFinding) -> list[doc.Legend]:
    """Returns the meaning of the counters' titles; empty if there are no counters."""
    columns = _counter_columns(finding)
    titles = [one.column.title for one in columns]
    entries = [
        doc.Meaning([title for title in group if title in titles], meaning)
        for group, meaning in _LEGENDS[finding.view]
        if any(title in titles for title in group)
    ]
    marked = [one.column.title for one in columns if one.value is not _width]
    entries += [doc.Meaning(marked, _MARKS_LEGEND, named=False)] if marked else []
    return [doc.Legend(entries)] if entries else []


def _counter(title: str, metric: str, stays: int, kind: doc.ValueKind) -> LadderColumn:
    def value(rung: ladder.RungFinding) -> doc.Value:
        mean = rung.metrics.get(metric)
        return None if mean is None else doc.Marked(mean, f" {_mark(rung, metric)}")

    return LadderColumn(doc.Column(title, kind, stays), value, (metric,))


def _mark(rung: ladder.RungFinding, metric: str) -> str:
    """Returns the direction of the change from the rung that this one follows.

    It is a space if nothing was compared, so that figures stay aligned.
    """
    change = rung.delta.get(metric)
    if change is None:
        return " "
    return VERDICT_MARK.get(change.verdict) or ("↑" if change.delta > 0 else "↓")


def _width(rung: ladder.RungFinding) -> str:
    """Returns the bits of a load and of a store, once if they are equal; blocks have no width."""
    sides = [width_text(rung.metrics, kind) for kind in ("load", "store")]
    if sides == ["-", "-"] and "bulk_loads" not in rung.metrics:
        return ""  # not recorded
    return sides[0] if sides[0] == sides[1] else "/".join(sides)


_WIDTH = ("load_width_bits", "store_width_bits", "bulk_loads")
_VIEWS: dict[ladder.LadderView, tuple[LadderColumn, ...]] = {
    "compute": (
        _counter("issue", "issue_active_pct", 4, "tenths"),
        _counter("FMA", "fma_pipe_pct", 3, "tenths"),
        _counter("LSU", "lsu_pipe_pct", 1, "tenths"),
        _counter("MIO", "stall_mio_throttle", 2, "hundredths"),
        _counter("short", "stall_short_scoreboard", 0, "hundredths"),
    ),
    "memory": (
        _counter("DRAM", "dram_bytes_per_s", 5, "giga"),
        _counter("max bw", "max_bandwidth_pct", 4, "tenths"),
        _counter("L1 hit", "l1_hit_pct", 2, "tenths"),
        _counter("L2 hit", "l2_hit_pct", 3, "tenths"),
        _counter("pipes", "mem_pipes_busy_pct", 1, "tenths"),
        _counter("inst/B", "inst_per_byte", 0, "thousandths"),
        LadderColumn(doc.Column("width", stays=6, right=True), _width, _WIDTH),
    ),
}
# Titles, and the meaning that they share.
_LEGENDS: dict[ladder.LadderView, tuple[tuple[tuple[str, ...], str], ...]] = {
    "compute": (
        (("issue", "FMA", "LSU"), "% of their peak"),
        (("MIO", "short"), "cycles per issue that a warp waits for the MIO queue, for shared memory"),
    ),
    "memory": (
        (("DRAM",), "GB/s of device memory"),
        (("max bw",), "Max Bandwidth, %"),
        (("L1 hit", "L2 hit"), "hit rates, %"),
        (("pipes",), "Mem Pipes Busy, %"),
        (("inst/B",), "instructions of all lanes per useful byte"),
        (("width",), "bits of a thread's global loads/stores, bulk for copies of blocks"),
    ),
}
_MARKS_LEGEND = "arrows, = and ?: compared with the rung it follows"
