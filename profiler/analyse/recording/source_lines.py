"""Finds where in its source a kernel executes and waits: instructions and stall samples of every line.

A `Run` and a kernel name in; a `SourceLines` out, or None without line information. The machine code
is that of most launches, as in `code.py`: executions are per launch, samples of all those launches.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from msgspec import Struct, to_builtins

from profiler.analyse.code.code import read_instructions
from profiler.analyse.findings import SCHEMA_VERSION
from profiler.catalog.metrics import STALLS_AS_SAMPLED
from profiler.store.tables.columns import labels_of

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from profiler.store.runs.run import Run

_COLUMNS = ("file", "line", "source", "executed", "samples", "stalls")
_BACKSLASH = "\\"


class SourceLine(Struct, frozen=True):
    """`file` is without its folder; `text` is null where the report did not import the source.

    `executed` counts instructions of warps per launch. Of its `samples`, `stalls` says by reason what the warp did, the
    most frequent first; without sampling, both are empty.
    """

    file: str
    line: int
    text: str | None
    executed: float
    samples: int
    stalls: dict[str, int]


class SourceLines(Struct, frozen=True):
    """The lines in the order of the source. `executed` and `samples` count the whole kernel, also code without a known line."""

    label: str
    kernel: str
    gpu: str
    launches: int
    executed: float
    samples: int
    lines: list[SourceLine]
    schema_version: int = SCHEMA_VERSION

    def __repr__(self) -> str:
        return f"<{self.label}: {len(self.lines)} source lines, {self.samples:,} samples>"

    def to_pandas(self) -> pd.DataFrame:
        """Returns one row for each line."""
        import pandas as pd

        return pd.DataFrame([to_builtins(line) for line in self.lines]).set_index(["file", "line"])


@dataclass
class _Tally:
    """The sums of a line over all its instructions in all launches."""

    text: str | None = None
    executed: int = 0
    samples: int = 0
    stalls: Counter[str] = field(default_factory=Counter)


def find_source_lines(run: Run, kernel: str) -> SourceLines | None:
    tables, _ = read_instructions(run, kernel, _COLUMNS)
    tallies: dict[tuple[str, int] | None, _Tally] = {}
    for table in tables:
        _add(table, tallies)
    lines = [
        SourceLine(
            file=place[0],
            line=place[1],
            text=tally.text,
            executed=tally.executed / len(tables),
            samples=tally.samples,
            stalls=dict(sorted(tally.stalls.items(), key=lambda item: (-item[1], item[0]))),
        )
        for place, tally in tallies.items()
        if place is not None
    ]
    if not lines:
        return None
    return SourceLines(
        label=run.label,
        kernel=kernel,
        gpu=", ".join(run.manifest.gpus),
        launches=len(tables),
        executed=sum(tally.executed for tally in tallies.values()) / len(tables),
        samples=sum(tally.samples for tally in tallies.values()),
        lines=sorted(lines, key=lambda line: (line.file, line.line)),
    )


def _add(table: pa.Table, tallies: dict[tuple[str, int] | None, _Tally]) -> None:
    columns = zip(
        labels_of(table, "file"),
        table.column("line").to_pylist(),
        labels_of(table, "source"),
        table.column("executed").to_pylist(),
        table.column("samples").to_pylist(),
        table.column("stalls").to_pylist(),
        strict=True,
    )
    for file, line, text, executed, samples, stalls in columns:
        place = (file.replace(_BACKSLASH, "/").rpartition("/")[2], line) if file and line else None
        tally = tallies.setdefault(place, _Tally())
        tally.text = tally.text if text is None else text
        tally.executed += executed or 0
        tally.samples += samples or 0
        tally.stalls.update({STALLS_AS_SAMPLED.get(reason, reason): count for reason, count in stalls or ()})
