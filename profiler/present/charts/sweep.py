"""Chart of a function at several points: its median time over the first value, beside that of its reference."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt

from profiler.present import style
from profiler.text import duration

_WIDTH, _HEIGHT = 480, 260
_COLOURS = {"function": style.PURPLE, "reference": style.ORANGE}


def sweep_chart(name: str, value: str, points: Sequence[tuple[int, float, float | None]]) -> alt.Chart:
    """Returns the times of the function `name`; each point has the number that `value` had there, and the times of function and reference."""
    slowest = max(points, key=lambda point: point[1])
    divisor, unit = style.readable_unit("ns", slowest[1])
    rows = [
        {"at": at, "what": what, "time": ns / divisor}
        for at, *times in points
        for what, ns in zip(_COLOURS, times, strict=True)
        if ns is not None
    ]
    title = f"{name} takes at most {duration(slowest[1])}, with {value}={slowest[0]}"
    axis = alt.Axis(grid=True, minExtent=0, **style.TITLE_ABOVE)
    chart: alt.Chart = (
        style.chart_of(rows, width=_WIDTH, height=_HEIGHT, title=style.heading(title))
        .mark_line(point=True)
        .encode(
            x=alt.X("at:Q", title=value, scale=alt.Scale(type="log", base=2)),
            y=alt.Y("time:Q", title=f"median time, {unit}", scale=alt.Scale(type="log"), axis=axis),
            color=style.coloured("what:N", _COLOURS),
        )
    )
    return chart
