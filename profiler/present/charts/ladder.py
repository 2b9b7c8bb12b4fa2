"""A whole ladder: how far every rung is from the reference, and how long it takes."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt
from altair.typing import ChartType

from profiler.analyse.ladder import LadderFinding, RungFinding
from profiler.present.charts.style import (
    BLUE,
    CATEGORIES,
    ORANGE,
    Record,
    figure,
    heading,
    readable_unit,
    source,
)
from profiler.present.text import shortened

_WIDTH = 460
_ROW = 24
_NAME_WIDTH = 40


def reference_chart(finding: LadderFinding) -> ChartType | None:
    """Every rung in % of its reference's speed; None where none was measured against one."""
    rungs = [rung for rung in finding.kernels if rung.reference_pct is not None]
    if not rungs:
        return None
    rows = [_reference_row(rung) for rung in rungs]
    names, references = _names(rows), list(dict.fromkeys(row["reference"] for row in rows))
    base = alt.Chart(source(rows), width=_WIDTH, height=_ROW * len(rows)).encode(
        y=alt.Y("rung:N", sort=names, title=None), tooltip=["rung:N", "pct:Q", "reference:N", "basis:N"]
    )
    highest = max(100.0, *(row["pct"] for row in rows))
    x = alt.X(
        "pct:Q",
        title="% of the reference's speed",
        scale=alt.Scale(domain=[0, highest]),
        axis=alt.Axis(tickCount=5),
    )
    bars = base.mark_bar(height=14).encode(
        x=x,
        color=alt.Color(
            "reference:N",
            scale=alt.Scale(domain=references, range=list(CATEGORIES[: len(references)])),
            legend=alt.Legend(title="reference", orient="bottom") if len(references) > 1 else None,
        ),
    )
    text = base.mark_text(align="left", baseline="middle").encode(x=alt.value(_WIDTH + 12), text="label:N")
    whole = alt.Chart(source([{"pct": 100.0}])).mark_rule(strokeDash=[3, 3]).encode(x="pct:Q")
    return alt.layer(whole, bars, text).properties(
        title=heading(_reference_title(rungs), _conditions(finding))
    )


def ladder_times_chart(finding: LadderFinding) -> ChartType | None:
    """Time per rung, without the profiler and under it; None where none was measured."""
    rows = [row for rung in finding.kernels for row in _time_rows(rung)]
    if not rows:
        return None
    divisor, unit = readable_unit("ns", max(row["ns"] for row in rows))
    for row in rows:
        row["time"] = row["ns"] / divisor
        row["label"] = f"{figure(row['time'])} {unit}"
    bases = [basis for basis in ("unprofiled", "profiled") if any(row["basis"] == basis for row in rows)]
    base = alt.Chart(source(rows), width=_WIDTH, height=_ROW * len(_names(rows))).encode(
        y=alt.Y("rung:N", sort=_names(rows), title=None), tooltip=["rung:N", "basis:N", "label:N"]
    )
    legend = alt.Legend(title=None, orient="bottom")
    points = base.mark_point(strokeWidth=2, opacity=1).encode(
        x=alt.X(
            "time:Q",
            title=f"time, {unit} (log scale)",
            scale=alt.Scale(type="log"),
            axis=alt.Axis(tickCount=4),
        ),
        color=alt.Color("basis:N", scale=_styles(bases, (BLUE, ORANGE)), legend=legend),
        shape=alt.Shape("basis:N", scale=_styles(bases, ("circle", "diamond")), legend=legend),
        size=alt.Size("basis:N", scale=_styles(bases, (150, 45)), legend=legend),
    )
    first = [row for row in rows if row["basis"] == bases[0]]
    text = (
        alt.Chart(source(first))
        .mark_text(align="left", baseline="middle")
        .encode(y=alt.Y("rung:N", sort=_names(rows)), x=alt.value(_WIDTH + 12), text="label:N")
    )
    return alt.layer(points, text).properties(title=heading(_times_title(finding), _conditions(finding)))


def _styles(bases: list[str], styles: Sequence[str | int]) -> alt.Scale:
    return alt.Scale(domain=bases, range=list(styles[: len(bases)]))


def _rung(rung: RungFinding) -> str:
    return f"{rung.kernel} {shortened(rung.name, _NAME_WIDTH)}"


def _names(rows: list[Record]) -> list[str]:
    return list(dict.fromkeys(row["rung"] for row in rows))


def _conditions(finding: LadderFinding) -> str:
    workload = ", ".join(f"{name} = {value}" for name, value in (finding.workload or {}).items())
    return ", ".join(shortened(part, 120) for part in (finding.gpu, workload) if part)


def _reference_row(rung: RungFinding) -> Record:
    pct = rung.reference_pct or 0.0
    return {
        "rung": _rung(rung), "pct": pct, "label": f"{figure(pct)} %",
        "reference": shortened(rung.reference, _NAME_WIDTH), "basis": rung.basis,
    }  # fmt: skip


def _time_rows(rung: RungFinding) -> list[Record]:
    profiled = rung.metrics.get("duration_ns")
    times = {rung.basis: rung.duration_ns, **({"profiled": profiled} if profiled else {})}
    return [{"rung": _rung(rung), "basis": basis, "ns": ns} for basis, ns in times.items() if ns]


def _reference_title(rungs: list[RungFinding]) -> str:
    """Of the first reference: that of the others is another matter."""
    climbed = [
        rung for rung in rungs if rung.reference == rungs[0].reference and rung.before is not None
    ] or rungs
    best = max(climbed, key=lambda rung: rung.reference_pct or 0.0)
    return f"{_rung(best)} reaches {figure(best.reference_pct or 0.0)} % of {shortened(best.reference, _NAME_WIDTH)}"


def _times_title(finding: LadderFinding) -> str:
    """How far the profiler is from the truth, where both were measured; else the largest step."""
    apart = {rung.kernel: _profiler_error_pct(rung) for rung in finding.kernels}
    known = {rung: pct for rung, pct in apart.items() if pct is not None}
    if known:
        return f"Times under the profiler are within {figure(max(known.values()), 2)} % of those without it"
    ratios = {_rung(rung): rung.speedup.ratio for rung in finding.kernels if rung.speedup is not None}
    if not ratios:
        return shortened(finding.title, 100)
    best = max(ratios, key=ratios.__getitem__)
    return f"The largest step is to {best}: {figure(ratios[best])}x as fast as the rung before"


def _profiler_error_pct(rung: RungFinding) -> float | None:
    profiled = rung.metrics.get("duration_ns")
    if rung.basis != "unprofiled" or not rung.duration_ns or not profiled:
        return None
    return abs(100 * (profiled / rung.duration_ns - 1))
