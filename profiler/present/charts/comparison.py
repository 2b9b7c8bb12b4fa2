"""Charts of two kernels: the change of each metric, and all charts of a comparison as one picture."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import altair as alt
from altair.typing import ChartType

from profiler.analyse import findings
from profiler.catalog.metrics import DURATION, HEADLINE, READY, SMALLEST_RELATIVE_EFFECT, with_working_pipes
from profiler.present import style
from profiler.present.charts.instructions import instructions_chart
from profiler.present.charts.rungs import READY_KEY, STALLS_KEY, stalls_of
from profiler.present.documents.comparison import claim_text
from profiler.present.documents.parts.attribution import parts_of, speedup_sentence
from profiler.text import shortened

_WIDTH = 380
_ROW = 26
_ROOM_FOR_LABEL = 4  # to the right of the longest bar, in margins
_WARP_STATES = (*style.STALLS, *READY)
# Parts that move the time by less are drawn as one.
_SMALLEST_STEP = math.log(1 + SMALLEST_RELATIVE_EFFECT)
# A factor explains a share if it is at least this part of it, and undoes it if it takes more than this part away.
_MOST = 0.5


def waterfall_chart(comparison: findings.ComparisonFinding) -> ChartType | None:
    """Returns one step for each factor, from 1x to the whole speedup; None without an attribution."""
    attribution = comparison.attribution
    if attribution is None:
        return None
    rows = list(_steps(attribution))
    whole = attribution.profiled_ratio
    low = min(1.0, *(min(row["start"], row["end"]) for row in rows))
    high = max(1.0, *(max(row["start"], row["end"]) for row in rows))
    margin = (high / low) ** 0.04
    scale = alt.Scale(type="log", domain=[low / margin, high * margin**_ROOM_FOR_LABEL], nice=False)
    axis = alt.Axis(format=".3~g", values=_ticks(low, high), title="times as fast (log scale)")
    base = style.rows_of(rows, "factor", _WIDTH, _ROW, "factor:N", "label:N", "share:N")
    bars = base.mark_bar(height=15).encode(
        x=alt.X("start:Q", scale=scale, axis=axis),
        x2=alt.X2("end:Q"),
        color=alt.Color("colour:N", scale=None),
    )
    labels = base.mark_text(align="left", baseline="middle", dx=6).encode(
        x=alt.X("right:Q"), text=alt.Text("label:N")
    )
    return alt.layer(style.dashed_line("x", 1.0), bars, labels).properties(
        title=style.heading(
            _waterfall_title(attribution),
            f"{whole:.3g}x" if not attribution.factors else speedup_sentence(attribution),
        )
    )


def stalls_chart(comparison: findings.ComparisonFinding) -> ChartType | None:
    """Returns the cycles between two instructions of a warp, by stall reason; None if not recorded."""
    attribution = comparison.attribution
    if attribution is None or not attribution.stalls:
        return None
    sides = {side: {part.name: getattr(part, side) for part in attribution.stalls} for side in style.SIDES}
    moved = sorted(attribution.stalls, key=lambda part: (-abs(part.after - part.before), part.name))[:2]
    return stalls_of(sides, style.heading(*_stalls_title(attribution, moved)), [part.name for part in moved])


def spent_chart(comparison: findings.ComparisonFinding) -> ChartType | None:
    """Returns where the time of each side went, by what a warp waits for; None if that was not recorded.

    A stall reason takes that part of the duration which it takes of a warp's cycles.
    """
    deltas = {one.name: one for one in comparison.metrics}
    waits = [one for name, one in deltas.items() if name.removeprefix("stall_") in _WARP_STATES]
    duration = deltas.get(DURATION)
    cycles = {side: sum(getattr(one, side) for one in waits) for side in style.SIDES}
    if duration is None or not all(cycles.values()):
        return None
    divisor, unit = style.readable_unit("ns", max(duration.before, duration.after))
    spent = {
        side: {
            one.name: getattr(one, side) / cycles[side] * getattr(duration, side) / divisor for one in waits
        }
        for side in style.SIDES
    }
    changes = _changes_of_time(spent)
    most = sorted(changes, key=lambda name: (-abs(changes[name]), name))[:2]
    said = " and ".join(f"{name} {style.signed_figure(changes[name], 2)} {unit}" for name in most)
    title = style.heading(f"Where the time went: {said}", READY_KEY)
    return stalls_of(spent, title, [name for name in most if name in style.STALLS], time_unit=unit)


def _changes_of_time(spent: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
    """Returns what each wait takes more than before, and all that is no wait together."""
    changes: dict[str, float] = {}
    for name, before in spent["before"].items():
        reason = name.removeprefix("stall_")
        group = style.READY_TITLE if reason in READY else reason
        changes[group] = changes.get(group, 0.0) + spent["after"][name] - before
    return changes


def _steps(attribution: findings.Attribution) -> Iterator[style.Record]:
    reached = 1.0
    for name, ratio, share in _leaves(attribution.factors, attribution):
        yield _step(name, reached, reached * ratio, ratio, share, style.BLUE if ratio >= 1 else style.RED)
        reached *= ratio
    whole = attribution.profiled_ratio
    yield _step("all", 1.0, whole, whole, 1.0, style.GREY)


def _step(name: str, start: float, end: float, ratio: float, share: float, colour: str) -> style.Record:
    return {
        "factor": name,
        "start": start,
        "end": end,
        "right": max(start, end),
        "label": f"{style.figure(ratio)}x",
        "share": f"{100 * share:.1f} % of the speedup",
        "colour": colour,
    }


def _leaves(
    factors: Sequence[findings.Factor], attribution: findings.Attribution
) -> Iterator[tuple[str, float, float]]:
    """Yields the innermost factors and parts in their order, with the small parts of one sum together."""
    for factor in factors:
        if factor.factors:
            yield from _leaves(factor.factors, attribution)
        elif parts := parts_of(factor, attribution):
            yield from _split(factor, parts)
        else:
            yield factor.name, factor.ratio, factor.share


def _split(factor: findings.Factor, parts: Sequence[findings.Part]) -> Iterator[tuple[str, float, float]]:
    rest = (f"rest of {factor.name}", 1.0, 0.0)
    for part in parts:
        if abs(math.log(part.ratio)) >= _SMALLEST_STEP:
            yield part.name, part.ratio, part.share
        else:
            rest = (rest[0], rest[1] * part.ratio, rest[2] + part.share)
    yield rest


def _ticks(low: float, high: float) -> list[float]:
    """Returns at most nine round figures; Vega's own log axis shows only powers of ten."""
    steps = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100)
    step = next((one for one in steps if (high - low) / one <= 8), None)
    if step is None:
        first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
        return [10.0**power for power in range(first, last + 1)]
    return [
        round(step * count, 4) for count in range(math.ceil(low / step), math.floor(high / step) + 1) if count
    ]


def _waterfall_title(attribution: findings.Attribution) -> str:
    if abs(math.log(attribution.profiled_ratio)) < SMALLEST_RELATIVE_EFFECT:
        return "Under the profiler, neither is faster"
    change = "speedup" if attribution.profiled_ratio > 1 else "slowdown"
    return f"Largest share of the {change} under the profiler: {_largest_share(attribution)}"


def _largest_share(attribution: findings.Attribution) -> str:
    """Returns the factor that explains most of the speedup, in words.

    It is the innermost factor or part that makes up most of the one around it, unless its neighbours mostly undo it. If the
    outermost factor is mostly undone, the text also names the one that undoes most of it.
    """
    found: findings.Factor | findings.Part = max(attribution.factors, key=_share)
    if _is_undone(found, attribution.factors):
        against = min(attribution.factors, key=_share)
        return f"{_share_text(found)}, against {_share_text(against)}"
    while isinstance(found, findings.Factor) and (beside := found.factors or parts_of(found, attribution)):
        largest = max(beside, key=_share)
        if largest.share < _MOST * found.share or _is_undone(largest, beside):
            break
        found = largest
    return _share_text(found)


def _is_undone(
    factor: findings.Factor | findings.Part, beside: Sequence[findings.Factor | findings.Part]
) -> bool:
    return -sum(min(0.0, one.share) for one in beside) > _MOST * factor.share


def _share(factor: findings.Factor | findings.Part) -> float:
    return factor.share


def _share_text(factor: findings.Factor | findings.Part) -> str:
    return f"{factor.name}, {100 * factor.share:.0f} %".replace("-", "\N{MINUS SIGN}")


def _stalls_title(attribution: findings.Attribution, moved: Sequence[findings.Part]) -> tuple[str, ...]:
    before, after = (sum(getattr(part, side) for part in attribution.stalls) for side in style.SIDES)
    changes = ", ".join(f"{part.name} {style.signed_figure(part.after - part.before, 2)}" for part in moved)
    return (
        f"A warp issues every {style.figure(after)} cycles, before every {style.figure(before)}",
        f"most changed: {changes} cycles",
        STALLS_KEY,
    )


_ARROWS = {"up": "↑", "down": "↓"}
_LABEL_WIDTH = 60


def comparison_chart(comparison: findings.ComparisonFinding) -> ChartType:
    """Returns the metrics above the stalls, and the factors above the instructions, as far as recorded."""
    columns: list[list[ChartType | None]] = [
        [deltas_chart(comparison), stalls_chart(comparison)],
        [waterfall_chart(comparison), instructions_chart(comparison)],
    ]
    sides = " → ".join(
        f"{shortened(side.label, _LABEL_WIDTH)} ({shortened(side.gpu, _LABEL_WIDTH)})"
        for side in (comparison.before, comparison.after)
    )
    title = claim_text(comparison.headline)
    return style.side_by_side(columns, title, [sides, *comparison.comparable.warnings], about=sides)


def deltas_chart(
    comparison: findings.ComparisonFinding, metrics: Sequence[str] = HEADLINE
) -> ChartType | None:
    """Returns each metric before and after, with the interval of the change; one panel for each unit.

    The pipes that do the arithmetic are among them. The result is None if the recordings have none of the metrics.
    """
    deltas = {delta.name: delta for delta in comparison.metrics}
    sides = [{one.name: getattr(one, side) for one in deltas.values()} for side in ("before", "after")]
    drawn = with_working_pipes(list(dict.fromkeys(metrics)), *sides)
    shown = [deltas[name] for name in drawn if name in deltas]
    if not shown:
        return None
    units = dict.fromkeys(delta.unit for delta in shown)
    panels = [_panel(unit, [delta for delta in shown if delta.unit == unit]) for unit in units]
    return alt.vconcat(*panels, spacing=14).properties(
        title=style.heading(
            _deltas_title(comparison, shown),
            "ring: before; dot: after, with the 95 % interval of the change; right: the change",
        )
    )


def _panel(unit: str, deltas: Sequence[findings.MetricDelta]) -> ChartType:
    largest = max(max(abs(one.before), abs(one.after)) for one in deltas)
    divisor, unit = style.readable_unit(unit, largest)
    rows = [_row(one, divisor) for one in deltas]
    names = [row["metric"] for row in rows]
    base = style.rows_of(rows, "metric", _WIDTH, _ROW, "metric:N", "before:Q", "after:Q", "label:N").encode(
        color=alt.Color("colour:N", scale=None)
    )
    x = alt.X(
        "before:Q", title=unit or "number", scale=alt.Scale(zero=True, nice=True), axis=alt.Axis(tickCount=6)
    )
    line = base.mark_rule(strokeWidth=3, opacity=0.55).encode(x=x, x2=alt.X2("after:Q"))
    before = base.mark_point(size=60, filled=False, strokeWidth=2, opacity=1).encode(x=x)
    after = base.mark_point(size=70, filled=True, opacity=1).encode(x=alt.X("after:Q"))
    interval = base.mark_rule(strokeWidth=9, opacity=0.35).encode(x=alt.X("low:Q"), x2=alt.X2("high:Q"))
    label = style.texts_beside(style.chart_of(rows).encode(y=alt.Y("metric:N", sort=names)))
    return alt.layer(line, interval, before, after, label)


def _row(one: findings.MetricDelta, divisor: float) -> style.Record:
    low, high = one.ci or (one.delta, one.delta)
    reach = f" ± {style.figure((high - low) / 2 / divisor, 2)}" if one.ci else ""
    verdict = "likely" if one.reason == "beyond_launches" else one.verdict
    return {
        "metric": shortened(one.name, _LABEL_WIDTH),
        "before": one.before / divisor,
        "after": one.after / divisor,
        "low": (one.before + low) / divisor,
        "high": (one.before + high) / divisor,
        "label": f"{style.signed_figure(one.delta / divisor)}{reach}, {verdict}",
        "colour": style.VERDICTS[one.verdict],
    }


def _deltas_title(comparison: findings.ComparisonFinding, shown: Sequence[findings.MetricDelta]) -> str:
    names = {one.name for one in shown}
    for confirmation in comparison.confirmations:
        if confirmation.confirmed and names.issuperset(check.metric for check in confirmation.checks):
            return f"{confirmation.name} confirmed: {_arrows(confirmation)}"
    if all(one.reason in findings.TOO_FEW for one in shown):
        if beyond := sum(one.has_moved for one in shown):
            return f"{beyond} of {len(shown)} metrics differ by more than launches of one kernel do"
        return "Too few launches to tell which metrics differ"
    certain = sum(one.verdict in ("better", "worse", "changed") for one in shown)
    return f"{certain} of {len(shown)} metrics differ beyond the noise"


def _arrows(confirmation: findings.Confirmation) -> str:
    return " ".join(
        f"{check.metric.removesuffix('_pct').removeprefix('stall_')} {_ARROWS[check.expected]}"
        for check in confirmation.checks
    )
