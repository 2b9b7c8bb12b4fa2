"""A sweep as a person reads it: what was tried, the best points, how sure that is, what each parameter is worth."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence

from profiler.analyse.tuning import Fate, ParameterWorth, TuningFinding, TuningStep
from profiler.catalog.ladders.ladder import size_text
from profiler.present.encode import Cell, markdown_text, to_markdown
from profiler.present.rungs import duration, titles_of
from profiler.present.terminal import render_table
from profiler.text import counted, printable, shortened

_STAGES = {"final": "again, in turns", "full": "in full", "screen": "briefly"}
_REASON_WIDTH = 160
POINT_HEADER = (
    "time_ns", "spread_pct", "slower_pct", "reference_pct", "registers", "shared_bytes", "repeats", "stage", "is_current",
)  # fmt: skip
WORTH_TITLES = ("parameter", "value", "points", "best", "slower %", "median")
_WORTH_NUMERIC = (1, 2, 3, 4, 5)
_WORTH_HEADING = "What each value is worth, over all points that were timed:"
Row = tuple[Cell, ...]


def settings_text(settings: Mapping[str, int]) -> str:
    """`BM=64 BN=128`: without what all names begin with."""
    return " ".join(
        f"{name}={value}" for name, value in zip(short_names(settings), settings.values(), strict=True)
    )


def short_names(names: Sequence[str] | Mapping[str, int]) -> list[str]:
    """Without the words that all begin with, where something of each is left."""
    words = [name.split("_") for name in names]
    common = 0
    while len(words) > 1 and all(len(one) > common + 1 for one in words):
        if len({one[common] for one in words}) > 1:
            break
        common += 1
    return ["_".join(one[common:]) for one in words]


def tuning_text(finding: TuningFinding, width: int | None = None, colour: bool = False) -> str:
    titles, cells = _point_table(finding)
    points = render_table(
        titles,
        cells,
        right=_numeric(titles),
        optional=[titles.index(name) for name in ("shared bytes", "stage", "repeats")],
        styles=["green"],
        width=width,
        colour=colour,
    )
    worths = _each_name_once(_worth_cells(finding))
    values = render_table(WORTH_TITLES, worths, right=_WORTH_NUMERIC, width=width, colour=colour)
    parts = [tried_lines(finding), [points], verdict_lines(finding), [_WORTH_HEADING, values]]
    return "\n\n".join("\n".join(part) for part in parts)


def tuning_markdown(finding: TuningFinding) -> str:
    titles, cells = _point_table(finding)
    lines = [line.strip() for line in (*tried_lines(finding), *verdict_lines(finding))]
    parts = [
        "\n".join(f"* {markdown_text(line)}" for line in lines),
        to_markdown(titles, cells, numeric=_numeric(titles)),
        _WORTH_HEADING,
        to_markdown(WORTH_TITLES, _worth_cells(finding), numeric=_WORTH_NUMERIC),
    ]
    return "\n\n".join(parts)


def point_rows(finding: TuningFinding) -> tuple[list[str], list[Row]]:
    """For programs: one row for each of the best points, a column for each parameter."""
    rows: list[Row] = [
        (
            *one.settings.values(), one.time_ns, one.spread_pct, one.slower_pct, one.reference_pct, one.registers,
            one.shared_bytes, one.repeats, one.stage, one.is_current,
        )
        for one in finding.points
    ]  # fmt: skip
    return [*finding.best.settings, *POINT_HEADER], rows


def _point_table(finding: TuningFinding) -> tuple[list[str], list[list[str]]]:
    header, rows = point_rows(finding)
    titles = [*short_names(finding.best.settings), *titles_of(POINT_HEADER)[:-1], ""]
    return titles, [list(map(_point_cell, header, row)) for row in rows]


def _point_cell(name: str, cell: Cell) -> str:
    if name == "stage":
        return _STAGES[str(cell)]
    if name == "is_current":
        return "the source's" if cell else ""
    if isinstance(cell, float):
        return duration(cell) if name == "time_ns" else _pct(cell)
    return "" if cell is None else str(cell)


def _numeric(titles: Sequence[str]) -> list[int]:
    return list(range(len(titles) - 2))


def _worth_cells(finding: TuningFinding) -> list[list[str]]:
    """`best` is of the points with that value, `slower %` how much slower it is than the best of all."""
    return [
        [
            _short_name(one.name, finding), str(value.value), str(value.points), duration(value.best_ns),
            _pct(value.slower_pct), duration(value.median_ns),
        ]
        for one in finding.parameters
        for value in one.values
    ]  # fmt: skip


def tried_lines(finding: TuningFinding) -> list[str]:
    """What was measured, and how: before any figure."""
    allowed = finding.combinations - sum(finding.excluded.values())
    stages = finding.stages
    chosen = f", of which {finding.tried} were tried" if finding.tried < allowed else ""
    lines = [
        f"{finding.ladder} {finding.kernel} on {finding.gpu}, {size_text(finding.workload)}",
        f"{finding.combinations} combinations, {allowed} within the constraints{chosen}; "
        f"{finding.timed} {'is' if finding.timed == 1 else 'are'} correct",
        f"timed: {stages['screen']} by {counted(finding.screen_repeats, 'repeat', 'repeats')}; "
        f"{stages['full']} by {finding.repeats} more, if within {finding.within_pct:g} % of the best, or the source's; "
        f"{stages['final']} again, {finding.processes} x {finding.repeats}, taking turns: these decide",
    ]
    return lines + [f"  {_fate_text(fate)}" for fate in finding.fates]


def verdict_lines(finding: TuningFinding) -> list[str]:
    best = finding.best
    against = (
        f", {best.reference_pct:.1f} % of {printable(finding.reference or 'the reference')}"
        if best.reference_pct
        else ""
    )
    lines = [f"The best is {settings_text(best.settings)}: {duration(best.time_ns)}{against}."]
    if finding.runner_up:
        whose = ", which is what the source has now" if finding.runner_up == finding.current else ""
        lines.append(
            f"The second, {settings_text(finding.runner_up.settings)}{whose}, {_step_text(finding.runner_up)}."
        )
    if best.is_current:
        lines.append("It is what the source has now.")
    elif finding.current and finding.current != finding.runner_up:
        lines.append(
            f"What the source has now, {settings_text(finding.current.settings)}, {_step_text(finding.current)}."
        )
    if finding.reference_spread_pct is not None:
        lines.append(
            f"The reference's own median moved by {_pct(finding.reference_spread_pct)} % over the sweep, from lowest to highest."
        )
    top = finding.parameters[0]
    if top.worth_pct > 0:
        lines.append(f"{worth_title(top, finding)}.")
    return lines


def diff_lines(before: str, after: str, name: str) -> list[str]:
    """The change of a source, as `diff -u` shows it."""
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), name, name, lineterm="", n=1)
    return [printable(line) for line in lines]


def worth_title(worth: ParameterWorth, finding: TuningFinding) -> str:
    name = _short_name(worth.name, finding)
    worst = max(worth.values, key=lambda one: one.slower_pct)
    return f"{name} is worth most: with {name}={worst.value}, the fastest point is {_pct(worth.worth_pct)} % slower"


def _short_name(name: str, finding: TuningFinding) -> str:
    names = list(finding.best.settings)
    return short_names(names)[names.index(name)]


def _step_text(step: TuningStep) -> str:
    by = f"{_pct(abs(step.slower_pct))} % {'slower' if step.slower_pct >= 0 else 'faster'}"
    if step.ci is None:
        return f"is {by}; with one process each there is no telling how sure that is"
    low, high = (_pct(end) for end in step.ci)
    said = f"is {by} (95 % interval {low} to {high})"
    return said if step.is_sure else f"{said}: no different, as far as this can tell"


def _fate_text(fate: Fate) -> str:
    return f"{counted(fate.points, 'point', 'points')} {fate.status}: {shortened(fate.reason, _REASON_WIDTH)}"


def _each_name_once(rows: Sequence[Sequence[str]]) -> list[list[str]]:
    names = [row[0] for row in rows]
    return [
        ["" if place and names[place - 1] == row[0] else row[0], *row[1:]] for place, row in enumerate(rows)
    ]


def _pct(value: float) -> str:
    """Two decimals where they count."""
    return f"{value:.2f}" if abs(value) < 10 else f"{value:.1f}"
