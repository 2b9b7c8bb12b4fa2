"""Charts of a whole ladder: each rung's speed against the reference, its time, and the profiler's effect."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt
from altair.typing import ChartType

from profiler.analyse.ladder.climb import RungStalls, furthest_rung, path_to
from profiler.analyse.ladder.ladder import LadderFinding, RungFinding
from profiler.analyse.ladder.roofline import Point, Roofline, Stream
from profiler.catalog.metrics import DURATION
from profiler.present import style
from profiler.present.documents.ladder import branches_text
from profiler.text import duration, shortened

_WIDTH = 460
_ROW = 24
_NAME_WIDTH = 40
# Beyond this ratio between times, the axis is logarithmic.
_MOST_APART = 8.0
_MOST_PCT = 125.0  # of the reference's speed; longer bars would squeeze the others
_WITHOUT, _UNDER = "without", "under"


def reference_chart(finding: LadderFinding) -> ChartType | None:
    """Returns the speed of each rung in % of its reference; None if none was measured against one.

    A bar far beyond its reference ends at the edge, so that the others keep their length; its figure says how far.
    """
    rungs = [rung for rung in finding.kernels if rung.reference_pct is not None]
    if not rungs:
        return None
    rows = [_reference_row(rung) for rung in rungs]
    references = style.names_in(rows, "reference")
    base = style.rows_of(rows, "rung", _WIDTH, _ROW, "rung:N", "pct:Q", "reference:N", "basis:N")
    highest = min(_MOST_PCT, max(100.0, *(row["pct"] for row in rows)))
    beyond = any(row["pct"] > _MOST_PCT for row in rows)
    x = alt.X(
        "pct:Q",
        title="% of the reference's speed" + (f"; → goes on beyond {_MOST_PCT:g} %" if beyond else ""),
        scale=alt.Scale(domain=[0, highest], clamp=True),
        axis=alt.Axis(tickCount=5),
    )
    bars = base.mark_bar(height=14).encode(
        x=x,
        color=alt.Color(
            "reference:N",
            scale=alt.Scale(domain=references, range=list(style.MORE_CATEGORIES[: len(references)])),
            legend=style.legend_below("reference") if len(references) > 1 else None,
        ),
    )
    return alt.layer(style.dashed_line("pct", 100.0), bars, style.texts_beside(base)).properties(
        title=style.heading(reached_title(finding, rungs), conditions_text(finding))
    )


def ladder_times_chart(finding: LadderFinding) -> ChartType | None:
    """Returns the time of each rung, and its speedup over the rung before; None if none was measured.

    Times are without the profiler if possible; a colour and a shape mark those under it.
    """
    rows = [_time_row(rung) for rung in finding.kernels if rung.duration_ns]
    if not rows:
        return None
    divisor, unit = style.readable_unit("ns", max(row["ns"] for row in rows))
    for row in rows:
        row["time"] = row["ns"] / divisor
    bases = [basis for basis in ("unprofiled", "profiled") if any(row["basis"] == basis for row in rows)]
    base = style.rows_of(rows, "rung", _WIDTH, _ROW, "rung:N", "basis:N", "label:N", axis=alt.Axis(grid=True))
    legend = style.legend_below() if len(bases) > 1 else None
    far_apart = max(row["ns"] for row in rows) > _MOST_APART * min(row["ns"] for row in rows)
    how = f"time {_WITHOUT if bases[0] == 'unprofiled' else _UNDER} the profiler, {unit}"
    points = base.mark_point(filled=True, size=80, opacity=1).encode(
        x=alt.X(
            "time:Q",
            title=f"{how} (log scale)" if far_apart else how,
            scale=alt.Scale(type="log") if far_apart else alt.Scale(zero=True),
            axis=alt.Axis(tickCount=4),
        ),
        color=alt.Color("basis:N", scale=_styles(bases, (style.PURPLE, style.ORANGE)), legend=legend),
        shape=alt.Shape("basis:N", scale=_styles(bases, ("circle", "diamond")), legend=legend),
    )
    steps = f", and how many times as fast as the rung before{branches_text(finding)}"
    key = f"; right: the time{steps}" if any(rung.speedup for rung in finding.kernels) else ""
    return alt.layer(points, style.texts_beside(base)).properties(
        title=style.heading(_steps_title(finding), conditions_text(finding) + key)
    )


def profiler_effect_chart(finding: LadderFinding) -> ChartType | None:
    """Returns how much longer each rung takes under the profiler; None if none was timed both ways."""
    rows = [
        {"rung": rung_title(rung), "pct": pct, "label": _effect_label(rung, pct)}
        for rung in finding.kernels
        if (pct := _profiler_effect_pct(rung)) is not None
    ]
    if not rows:
        return None
    base = style.rows_of(rows, "rung", _WIDTH, _ROW, "rung:N", "label:N")
    bars = base.mark_bar(height=14, color=style.ORANGE).encode(
        x=alt.X("pct:Q", title="under the profiler, % longer than without it", axis=alt.Axis(tickCount=6))
    )
    zero = style.chart_of([{"pct": 0.0}]).mark_rule().encode(x=alt.X("pct:Q"))
    return alt.layer(bars, zero, style.texts_beside(base)).properties(
        title=style.heading(
            _effect_title(finding), f"{conditions_text(finding)}; right: without the profiler → under it"
        )
    )


def _styles(bases: list[str], styles: Sequence[str | int]) -> alt.Scale:
    return alt.Scale(domain=bases, range=list(styles[: len(bases)]))


def rung_title(rung: RungFinding | RungStalls | Point | Stream) -> str:
    return f"{rung.kernel} {shortened(rung.name, _NAME_WIDTH)}"


def conditions_text(finding: LadderFinding | Roofline) -> str:
    workload = ", ".join(f"{name} = {value}" for name, value in (finding.workload or {}).items())
    return ", ".join(shortened(part, 120) for part in (finding.gpu, workload) if part)


def _reference_row(rung: RungFinding) -> style.Record:
    pct, reference = rung.strongest
    return {
        "rung": rung_title(rung), "pct": pct, "label": f"{'→ ' if pct > _MOST_PCT else ''}{_percent(pct)}",
        "reference": shortened(reference, _NAME_WIDTH), "basis": rung.basis,
    }  # fmt: skip


def _time_row(rung: RungFinding) -> style.Record:
    time_ns = rung.duration_ns or 0.0
    step = f", {style.figure(rung.speedup.ratio)}x" if rung.speedup else ""
    return {
        "rung": rung_title(rung), "basis": rung.basis, "ns": time_ns, "label": f"{duration(time_ns)}{step}",
    }  # fmt: skip


def reached_title(finding: LadderFinding, rungs: Sequence[RungFinding]) -> str:
    """Returns a title about the rung that the headline names too; other rungs may have other references."""
    furthest = furthest_rung(finding.kernels)
    best = furthest if furthest and furthest in rungs else max(rungs, key=lambda rung: rung.strongest[0])
    pct, reference = best.strongest
    return f"{rung_title(best)} reaches {_percent(pct)} of {shortened(reference, _NAME_WIDTH)}"


def _percent(pct: float) -> str:
    """Returns it as the tables do, with one digit behind the point."""
    return f"{pct:.1f} %"


def _steps_title(finding: LadderFinding) -> str:
    """Returns a title about the largest step on the way to the rung that comes furthest."""
    titles: dict[int | None, str] = {rung.kernel: rung_title(rung) for rung in finding.kernels}
    furthest = furthest_rung(finding.kernels)
    path = path_to(finding.kernels, furthest) if furthest else []
    steps = [(rung.speedup.ratio, rung) for rung in path if rung.speedup]
    if not steps:
        return shortened(finding.title, 100)
    ratio, best = max(steps, key=lambda step: step[0])
    followed = titles.get(best.before, f"rung {best.before}")
    return f"The largest step is to {rung_title(best)}: {style.figure(ratio)}x as fast as {followed}"


def _effect_title(finding: LadderFinding) -> str:
    effects = [_profiler_effect_pct(rung) for rung in finding.kernels]
    largest = max(abs(pct) for pct in effects if pct is not None)
    return f"Times under the profiler are within {style.figure(largest, 2)} % of those without it"


def _effect_label(rung: RungFinding, pct: float) -> str:
    times = " → ".join(duration(time) for time in (rung.duration_ns or 0.0, rung.metrics[DURATION]))
    return f"{style.signed_figure(pct, 2)} %, {times}"


def _profiler_effect_pct(rung: RungFinding) -> float | None:
    """Returns the profiler's effect in percent; None if the two times are not of the same work."""
    profiled = rung.metrics.get(DURATION)
    if rung.basis != "unprofiled" or not rung.duration_ns or not profiled or rung.is_part_of_step:
        return None
    return 100 * (profiled / rung.duration_ns - 1)
