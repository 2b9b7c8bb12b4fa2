"""A `LadderFinding` as a terminal page, Markdown or CSV."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

from profiler.analyse.ladder.ideas import Idea
from profiler.analyse.ladder.ladder import HEADLINES, LadderFinding, RungFinding
from profiler.catalog.ladders.ladder import size_text, spans_text
from profiler.present.encode import Cell, markdown_text, to_csv, to_markdown
from profiler.present.ladder_views import counter_columns, counter_legend
from profiler.present.rungs import branches_text, duration
from profiler.present.terminal import VERDICT_MARK, VERDICT_STYLE, render_table, styled, wrapped
from profiler.text import number, printable

_WORK_STAYS = 100  # longer than any counter, where the window is narrow
_MOST_OTHERS = 6


def ladder_text(finding: LadderFinding, others: Sequence[str], *, colour: bool, width: int | None) -> str:
    """`others` are the conditions that runs are stored of as well."""
    header = ladder_header(finding)
    order = {column.title: column.stays for column in counter_columns(finding)}
    order[_work_title(finding)] = _WORK_STAYS
    optional = sorted((title for title in header if title in order), key=lambda title: order[title])
    table = render_table(
        header,
        [rung_cells(rung, finding) for rung in finding.kernels],
        right=[index for index, title in enumerate(header) if title not in ("name", "binding")],
        styles=[VERDICT_STYLE[rung.verdict] if colour and rung.verdict else "" for rung in finding.kernels],
        optional=[header.index(title) for title in optional],
        fold=header.index("binding") if "binding" in header else None,
        colour=colour,
        width=width,
    )
    titles = table.split("\n", 1)[0]
    notes = ladder_notes(finding, [title for title in header if title in titles])
    parts = [
        styled(ladder_heading(finding), "bold", colour=colour) + _others(others),
        table,
        "\n".join(wrapped(note, width) for note in notes),
    ]
    return "\n\n".join(parts)


def ladder_markdown(finding: LadderFinding) -> str:
    header = ladder_header(finding)
    table = to_markdown(
        header,
        [rung_cells(rung, finding) for rung in finding.kernels],
        numeric=[index for index, title in enumerate(header) if title not in ("name", "binding")],
    )
    notes = [markdown_text(line) for line in ladder_notes(finding, header)]
    return "\n\n".join([f"### {markdown_text(ladder_heading(finding))}", table, "  \n".join(notes)])


def ladder_csv(finding: LadderFinding) -> str:
    """One row a rung; values in full."""
    header = [
        "kernel", "name", "duration_ns", "basis", "gflops", "gbytes_per_s", "reference_pct", "reference",
        "before", "speedup", "speedup_low", "speedup_high", "speedup_basis", "verdict", "binding",
    ]  # fmt: skip
    headline = HEADLINES[finding.view]
    for metric in headline:
        header += [f"profiled_{metric}" if metric == "duration_ns" else metric]
    for metric in headline:
        header += [f"{metric}_delta", f"{metric}_verdict"]
    rows = [_csv_row(rung, headline) for rung in finding.kernels]
    return to_csv([*header, "refused", "run_id", "timed_run_id"], rows)


def _csv_row(rung: RungFinding, headline: Sequence[str]) -> list[Cell]:
    speedup = rung.speedup
    row: list[Cell] = [
        rung.kernel, rung.name, rung.duration_ns, rung.basis, rung.gflops, rung.gbytes_per_s,
        rung.reference_pct, rung.reference, rung.before, speedup.ratio if speedup else None,
        *((speedup.ci if speedup else None) or (None, None)), speedup.basis if speedup else None,
        rung.verdict, rung.binding,
    ]  # fmt: skip
    row += [rung.metrics.get(metric) for metric in headline]
    for metric in headline:
        change = rung.delta.get(metric)
        row += [change.delta, change.verdict] if change else [None, None]
    return [*row, "; ".join(rung.refused), rung.run_id, rung.timed_run_id]


def ladder_heading(finding: LadderFinding) -> str:
    workload = size_text(finding.workload) if finding.workload else "workload not recorded"
    return f"{finding.ladder}: {printable(finding.title)} ({printable(finding.gpu)}, {workload})"


def _others(others: Sequence[str]) -> str:
    if not others:
        return ""
    more = f"; and {len(others) - _MOST_OTHERS} more" if len(others) > _MOST_OTHERS else ""
    return f"\nalso stored: {printable('; '.join(others[:_MOST_OTHERS]))}{more}"


def _work_title(finding: LadderFinding) -> str:
    """What the view is about, where that is known; else the other."""
    rates = [(rung.gflops, rung.gbytes_per_s) for rung in finding.kernels]
    computes = any(gflops is not None for gflops, _ in rates)
    moves = any(gbytes is not None for _, gbytes in rates)
    return "GFLOP/s" if computes and (finding.view == "compute" or not moves) else "GB/s"


def _has_work(finding: LadderFinding) -> bool:
    return any((rung.gflops, rung.gbytes_per_s) != (None, None) for rung in finding.kernels)


def ladder_header(finding: LadderFinding) -> list[str]:
    work = [_work_title(finding)] if _has_work(finding) else []
    counters = [column.title for column in counter_columns(finding)]
    binding = ["binding"] if any(rung.binding for rung in finding.kernels) else []
    return ["", "name", "time", *work, "% ref", "step", *counters, *binding]


def rung_cells(rung: RungFinding, finding: LadderFinding) -> list[str]:
    work = rung.gflops if _work_title(finding) == "GFLOP/s" else rung.gbytes_per_s
    cells = [str(rung.kernel), rung.name, _time(rung, finding)]
    cells += ["" if work is None else number(work)] if _has_work(finding) else []
    cells += ["" if rung.reference_pct is None else f"{rung.reference_pct:.1f}", _step(rung)]
    cells += [column.cell(rung) for column in counter_columns(finding)]
    return [*cells, _binding(rung)] if any(one.binding for one in finding.kernels) else cells


def _binding(rung: RungFinding) -> str:
    """Of the kernel that was profiled, which may be one of several."""
    text = (rung.binding or "").replace("-", " ")
    return f"{text} (its part)" if text and rung.is_part_of_step else text


def _time(rung: RungFinding, finding: LadderFinding) -> str:
    """Marked where it is the profiler's, and others are not."""
    if rung.duration_ns is None:
        return ""
    mixed = any(one.basis == "unprofiled" for one in finding.kernels)
    return duration(rung.duration_ns) + ("*" if mixed and rung.basis == "profiled" else "")


def _step(rung: RungFinding) -> str:
    if rung.refused:
        return "refused"
    if rung.speedup is None:
        return ""
    return f"{number(rung.speedup.ratio)}x {VERDICT_MARK.get(rung.verdict or '', '')}".rstrip()


def ladder_notes(finding: LadderFinding, shown: Sequence[str]) -> list[str]:
    """What the table does not say; of the counters only where their columns are `shown`."""
    rungs = finding.kernels
    profiled = [rung for rung in rungs if rung.basis == "profiled"]
    notes = []
    if profiled and len(profiled) == len(rungs):
        notes.append("time: under the profiler; no timings without it are stored of these runs")
    elif profiled:
        notes.append("time: without the profiler; * under it, where no such timing is stored")
    references = [
        f"{printable(name)}{_numbers([rung.kernel for rung in group], rungs)}"
        for name, group in groupby(
            (rung for rung in rungs if rung.reference), key=lambda rung: rung.reference
        )
    ]
    if references:
        notes.append(f"% ref: speed in percent of {', '.join(references)}")
    if not _has_work(finding) and not finding.workload:
        notes.append("no work per second: the runs do not say their workload")
    notes += missing_lines(finding)
    for rung in rungs:
        notes += [f"{rung.kernel} against {rung.before} refused: {printable(line)}" for line in rung.refused]
    notes += caution_lines(rungs)
    if any(rung.speedup for rung in rungs):
        notes.append(
            f"step: times as fast as the rung before{branches_text(finding)}, "
            "= if no difference matters, ? if unclear"
        )
    legend = counter_legend(finding, shown)
    return [*notes, legend] if legend else notes


def missing_lines(finding: LadderFinding) -> list[str]:
    """The ladder's other rungs, those together that are missing for one reason."""
    told: dict[str, list[int]] = {}
    for one in finding.missing:
        told.setdefault(one.why, []).append(one.kernel)
    return [f"left out ({spans_text(which)}): {printable(why)}" for why, which in told.items()]


def caution_lines(rungs: Sequence[RungFinding | Idea]) -> list[str]:
    """Of each step; what holds for all of them once."""
    steps = [rung.kernel for rung in rungs if rung.speedup]
    told: dict[str, list[int]] = {}
    for rung in rungs:
        for warning in rung.warnings:
            told.setdefault(warning, []).append(rung.kernel)
    return [
        f"caution{'' if which == steps else _list(which)}: {printable(warning)}"
        for warning, which in told.items()
    ]


def _list(numbers: Sequence[int]) -> str:
    return f" ({', '.join(map(str, numbers))})"


def _numbers(which: Iterable[int], rungs: Sequence[RungFinding]) -> str:
    """Empty where it is every rung."""
    numbers = list(which)
    if numbers == [rung.kernel for rung in rungs]:
        return ""
    return f" ({numbers[0]})" if len(numbers) == 1 else f" ({numbers[0]} to {numbers[-1]})"
