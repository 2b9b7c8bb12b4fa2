"""A function measured at several values of its arguments."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from profiler.python.recordings import Measurement

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd


@dataclass(frozen=True, repr=False)
class Sweep:
    """One measurement for each point, in the order of the values."""

    points: tuple[Measurement, ...]

    def __len__(self) -> int:
        return len(self.points)

    def __iter__(self) -> Iterator[Measurement]:
        return iter(self.points)

    def __getitem__(self, place: int) -> Measurement:
        return self.points[place]

    def to_pandas(self) -> pd.DataFrame:
        """Returns a row for each point: its values, and the median times of the function and of its reference."""
        import pandas as pd

        rows = []
        for one in self.points:
            facts, times = one.manifest.provenance, one.to_pandas("timings")
            median_ns = float(times["kernel_ns"].median())
            row: dict[str, object] = {**(one.manifest.workload or {}), "median_ns": median_ns}
            row["reference_median_ns"] = times["reference_ns"].median()
            if facts is not None and facts.bytes:
                row["gbytes_per_s"] = facts.bytes / median_ns
            if facts is not None and facts.flops:
                row["gflops"] = facts.flops / median_ns
            rows.append({**row, "run_id": one.manifest.run_id})
        return pd.DataFrame(rows)

    def chart(self) -> alt.Chart:
        """Returns the median time over the first value, with that of the reference beside it."""
        import altair as alt

        frame = self.to_pandas()
        x = str(frame.columns[0])
        long = frame.rename(columns={"median_ns": "function", "reference_median_ns": "reference"}).melt(
            [x], ["function", "reference"], "what", "ns"
        )
        chart: alt.Chart = (
            alt.Chart(long.dropna(), title=self.points[0].manifest.name)
            .mark_line(point=True)
            .encode(
                x=alt.X(f"{x}:Q", scale=alt.Scale(type="log", base=2)),
                y=alt.Y("ns:Q", title="median time, ns", scale=alt.Scale(type="log")),
                color=alt.Color("what:N", title=None),
            )
        )
        return chart

    def __repr__(self) -> str:
        return str(self.to_pandas().to_string(index=False))

    def _repr_html_(self) -> str:
        return str(self.to_pandas().to_html(index=False))
