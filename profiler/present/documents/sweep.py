"""A sweep as a document: what was tried, the best points, and what each parameter is worth."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence

from profiler.analyse.tuning import ParameterWorth, RankedPoint, TuningFinding, TuningStep
from profiler.catalog.ladders.ladder import size_text
from profiler.present.document import Column, Document, Records, Row, Section, Table, Text, Value
from profiler.text import counted, duration, percent, printable, shortened

_STAGES = {"final": "again, in turns", "full": "in full", "screen": "briefly"}
_REASON_WIDTH = 160
_POINT_HEADER = (  # fields of a `RankedPoint`
    "time_ns", "spread_pct", "slower_pct", "reference_pct", "registers", "shared_bytes", "repeats", "stage", "is_current",
)  # fmt: skip
_POINT_COLUMNS = (
    Column("time", "duration"),
    Column("spread %", "percent"),
    Column("slower %", "percent"),
    Column("% ref", "percent"),
    Column("registers", right=True),
    Column("shared bytes", right=True, stays=0),
    Column("repeats", right=True, stays=2),
    Column("stage", stays=1),
    Column(""),
)
_WORTH_COLUMNS = (
    Column("parameter"),
    Column("value", right=True),
    Column("points", right=True),
    Column("best", "duration"),
    Column("slower %", "percent"),
    Column("median", "duration"),
)
_WORTH_HEADING = "What each value is worth, over all points that were timed:"


def sweep_document(finding: TuningFinding) -> Document:
    """Returns what is best and how surely, then the best points, what was tried, and the worth of every value."""
    best, *others = verdict_lines(finding)
    heading = f"{finding.ladder} {finding.kernel} on {finding.gpu}, {size_text(finding.workload)}"
    sections: list[Section] = [
        [Text(heading, wraps=False), Text(best, strong=True), *map(Text, others)],
        [_points_table(finding)],
        [Text(line, wraps=False) for line in tried_lines(finding)],
        [Text(_WORTH_HEADING), _worth_table(finding)],
    ]
    return Document("", sections, _records(finding))


def _points_table(finding: TuningFinding) -> Table:
    """Returns a row for each of the best points, the fastest first."""
    names = [Column(name, right=True) for name in short_names(finding.best.settings)]
    rows = [
        Row(_point_values(one), "good" if place == 0 else "plain") for place, one in enumerate(finding.points)
    ]
    return Table([*names, *_POINT_COLUMNS], rows)


def settings_text(settings: Mapping[str, int]) -> str:
    """Returns the settings as `BM=64 BN=128`, without the words that all names begin with."""
    named = zip(short_names(settings), settings.values(), strict=True)
    return " ".join(f"{name}={value}" for name, value in named)


def short_names(names: Sequence[str] | Mapping[str, int]) -> list[str]:
    """Returns the names without the words with which all of them begin; each name keeps at least one word."""
    words = [name.split("_") for name in names]
    common = 0
    while len(words) > 1 and all(len(one) > common + 1 for one in words):
        if len({one[common] for one in words}) > 1:
            break
        common += 1
    return ["_".join(one[common:]) for one in words]


def _point_values(one: RankedPoint) -> tuple[Value, ...]:
    current = "the source's" if one.is_current else ""
    times = (one.time_ns, one.spread_pct, one.slower_pct, one.reference_pct)
    costs = (one.registers, one.shared_bytes, one.repeats)
    return (*one.settings.values(), *times, *costs, _STAGES[one.stage], current)


def _worth_table(finding: TuningFinding) -> Table:
    """Returns a row for each value of each parameter.

    `best` is the time of the fastest point with that value, and `slower %` compares it with the fastest of
    all.
    """
    rows = []
    for one in finding.parameters:
        for place, value in enumerate(one.values):
            name = "" if place else _short_name(one.name, finding)
            figures = (value.value, value.points, value.best_ns, value.slower_pct, value.median_ns)
            rows.append(Row((name, *figures)))
    return Table(_WORTH_COLUMNS, rows)


def _records(finding: TuningFinding) -> Records:
    """Returns a record for each of the best points, with a column for each parameter."""
    rows = [
        (*one.settings.values(), *(getattr(one, name) for name in _POINT_HEADER)) for one in finding.points
    ]
    return Records([*finding.best.settings, *_POINT_HEADER], rows)


def tried_lines(finding: TuningFinding) -> list[str]:
    """Returns how many points were measured, and how."""
    allowed = finding.combinations - sum(finding.excluded.values())
    stages = finding.stages
    chosen = f", of which {finding.tried} were tried" if finding.tried < allowed else ""
    lines = [
        f"{finding.combinations} combinations, {allowed} within the constraints{chosen}; "
        f"{finding.timed} {'is' if finding.timed == 1 else 'are'} correct",
        f"timed: {counted(stages['screen'], 'point')} with {counted(finding.screen_repeats, 'repeat')}; "
        f"{stages['full']} within {finding.within_pct:g} % of the best, or from the source, with {finding.repeats} more; "
        f"{stages['final']} again in {counted(finding.processes, 'process', 'processes')} of {finding.repeats} repeats, which take turns and decide",
    ]
    return lines + [
        f"  {counted(one.points, 'point')} {one.status}: {shortened(one.reason, _REASON_WIDTH)}"
        for one in finding.fates
    ]


def verdict_lines(finding: TuningFinding) -> list[str]:
    best = finding.best
    pct, reference = best.reference_pct, finding.reference or "the reference"
    against = f", {pct:.1f} % of {reference}" if pct else ""
    lines = [f"The best is {settings_text(best.settings)}: {duration(best.time_ns)}{against}."]
    if finding.runner_up:
        second = finding.runner_up
        whose = ", which is what the source has now" if second == finding.current else ""
        lines.append(f"The second, {settings_text(second.settings)}{whose}, {step_text(second)}.")
    if best.is_current:
        lines.append("It is what the source has now.")
    elif finding.current and finding.current != finding.runner_up:
        now = finding.current
        lines.append(f"What the source has now, {settings_text(now.settings)}, {step_text(now)}.")
    if finding.reference_spread_pct is not None:
        moved = f"moved by {percent(finding.reference_spread_pct)} % over the sweep, from lowest to highest"
        lines.append(f"The reference's own median {moved}.")
    top = finding.parameters[0]
    if top.worth_pct > 0:
        lines.append(f"{worth_title(top, finding)}.")
    return lines


def diff_lines(before: str, after: str, name: str) -> list[str]:
    """Returns the change of a source, as `diff -u` prints it."""
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), name, name, lineterm="", n=1)
    return [printable(line) for line in lines]


def worth_title(worth: ParameterWorth, finding: TuningFinding) -> str:
    name = _short_name(worth.name, finding)
    worst = max(worth.values, key=lambda one: one.slower_pct)
    return f"{name} is worth most: with {name}={worst.value}, the fastest point is {percent(worth.worth_pct)} % slower"


def _short_name(name: str, finding: TuningFinding) -> str:
    names = list(finding.best.settings)
    return short_names(names)[names.index(name)]


def step_text(step: TuningStep) -> str:
    """Returns by how much a point is slower than the best, and how sure that is, behind the name of the point."""
    by = f"{percent(abs(step.slower_pct))} % {'slower' if step.slower_pct >= 0 else 'faster'}"
    if step.ci is None:
        return f"is {by}; one process each is too few to say how sure that is"
    low, high = (percent(end) for end in step.ci)
    said = f"is {by} (95 % interval {low} to {high})"
    return said if step.is_sure else f"{said}: no certain difference"
