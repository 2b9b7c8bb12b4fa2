"""Finds where in its source a kernel executes and waits: instructions and stall samples of every line.

A `Run` and a kernel name in; a `SourceLines` out, or None without line information. The machine code is the
one that most launches ran, as in `code.py`: executions are per launch, and samples are from all of these
launches. Code of a library that is compiled in counts on the author's line that stands for it (`find_authors`).
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise, starmap
from typing import TYPE_CHECKING

from msgspec import Struct, structs

from profiler.analyse.code.code import place_of, read_instructions
from profiler.analyse.code.libraries import Written, find_authors
from profiler.analyse.findings import SCHEMA_VERSION
from profiler.analyse.recording.kernel_names import called_name
from profiler.catalog.metrics import STALLS_AS_SAMPLED
from profiler.store.tables.columns import find_stretches, labels_of
from profiler.text import place_name, short_place, shortened

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from profiler.analyse.code.code import Code, Instruction
    from profiler.analyse.recording.profile import Profile
    from profiler.store.runs.run import Run

_MOST_SHOWN, _TEXT_WIDTH = 5, 60
_PLACE = ["file", "line", "source"]
_COUNTS = ["executed", "samples", "stalls"]
_COLUMNS = [*_PLACE, *_COUNTS]
_AUTHORS_FROM = [*_PLACE, "sass", "executed", "offset", "inlined_at", "function_index"]


class SourceLine(Struct, frozen=True):
    """`file` is without its folder; `text` is null where the report did not import the source.

    `executed` counts instructions of warps per launch. `samples` counts how often a warp was seen there, and `stalls`
    by reason what it waited for, the most frequent first; without sampling, both are empty.
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
        """Returns how many lines there are and, if samples show it, on which of them most of the time goes."""
        head = f"<{self.label}: {len(self.lines)} source lines of {called_name(self.kernel)}, {self.samples:,} samples>"
        return "\n".join(
            [head, *map(self._shown, self.hottest(_MOST_SHOWN)), "`.to_pandas()` has all lines."]
        )

    def hottest(self, count: int) -> list[SourceLine]:
        """Returns the lines with most samples; without sampling, those that execute most."""
        return sorted(self.lines, key=lambda line: (-line.samples, -line.executed))[:count]

    def _shown(self, line: SourceLine) -> str:
        of_it = line.samples / self.samples if self.samples else line.executed / (self.executed or 1.0)
        what = "samples" if self.samples else "instructions"
        text = shortened((line.text or "").strip(), _TEXT_WIDTH)
        return f"{100 * of_it:5.1f} % of the {what}  {short_place(place_name(line.file, line.line))}  {text}".rstrip()

    def to_pandas(self) -> pd.DataFrame:
        """Returns one row for each line; a column such as `stall_wait` counts the samples of warps that waited for this reason."""
        import pandas as pd

        reasons = sum((Counter(line.stalls) for line in self.lines), Counter[str]())
        rows = []
        for line in self.lines:
            row = structs.asdict(line)
            stalls = row.pop("stalls")
            rows.append(row | {f"stall_{one}": stalls.get(one, 0) for one, _ in reasons.most_common()})
        return pd.DataFrame(rows).set_index(["file", "line"])


@dataclass
class _Tally:
    """The sums of a line over all its instructions in all launches; `text_at` is the last row that knows its text."""

    text_at: int = -1
    executed: int = 0
    samples: int = 0
    stalls: Counter[str] = field(default_factory=Counter)


def find_source_lines(run: Run, kernel: str) -> SourceLines | None:
    """Returns what each line of a kernel executed, as a mean over launches, and its samples; None if no line is recorded."""
    import pyarrow as pa

    tables, _ = read_instructions(run, kernel, [*_COLUMNS, *_AUTHORS_FROM])
    if not tables:
        return None
    joined = pa.concat_tables([one.select(_COLUMNS) for one in _at_the_author(tables)])
    table = joined.unify_dictionaries().combine_chunks()
    tallies = _tally(table)
    lines = [
        SourceLine(
            file=place[0],
            line=place[1],
            text=None if tally.text_at < 0 else table.column("source")[tally.text_at].as_py(),
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


def at_authors_lines(profile: Profile, code: Code) -> Code:
    """Returns the machine code of a kernel; code of libraries gets the place of the author's instruction that stands for it."""
    (first, *_), _ = read_instructions(profile.run, profile.kernel, _AUTHORS_FROM, profile.numbers)
    authors = dict(zip(_where(first), _find_authors(first), strict=True))
    functions = sorted(set(first.column("function_index").to_pylist()))
    return dataclasses.replace(
        code,
        functions=tuple(
            tuple(_placed(one, authors[number, one.offset]) for one in function)
            for number, function in zip(functions, code.functions, strict=True)
        ),
    )


def _where(table: pa.Table) -> Iterator[tuple[int, int]]:
    return zip(*(table.column(name).to_pylist() for name in ("function_index", "offset")), strict=True)


def _placed(one: Instruction, author: Written) -> Instruction:
    if (author.file, author.line) == (one.file, one.line):
        return one
    return structs.replace(one, file=author.file, line=author.line)


def _find_authors(table: pa.Table) -> list[Written]:
    """Returns for each instruction of a launch the one whose line stands for it."""
    texts, files, sources = (labels_of(table, name) for name in ("sass", "file", "source"))
    known = (table.column(name).to_pylist() for name in ("line", "executed", "offset"))
    code = list(
        starmap(Written, zip(texts, files, sources, *known, labels_of(table, "inlined_at"), strict=True))
    )
    authors: list[Written] = []
    for _, start, length in find_stretches(table.column("function_index").to_pylist()):
        authors += find_authors(code[start : start + length])
    return authors


def _at_the_author(tables: Sequence[pa.Table]) -> list[pa.Table]:
    """Returns the instructions of each launch; those of libraries get the place of the author's instruction that stands for them."""
    import pyarrow as pa

    authors = _find_authors(tables[0])
    places = [
        pa.array([one.file for one in authors], pa.string()).dictionary_encode(),
        pa.array([one.line for one in authors], pa.int32()),
        pa.array([one.source for one in authors], pa.string()).dictionary_encode(),
    ]
    return [  # they all hold the same code
        pa.table([*places, *one.select(_COUNTS).columns], _COLUMNS) for one in tables
    ]


def _tally(table: pa.Table) -> dict[tuple[str, int] | None, _Tally]:
    """Adds up the instructions of each line; those without a known line count together, as one line.

    Arrow does it, since a kernel may have a hundred thousand instructions in all its launches.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    rows = pa.array(range(table.num_rows), pa.int64())
    known = pc.if_else(table.column("source").is_valid(), rows, pa.scalar(None, pa.int64()))
    sums = (
        table.drop_columns(["source", "stalls"])
        .append_column("text_at", known)
        .group_by(["file", "line"], use_threads=False)
        .aggregate([("executed", "sum"), ("samples", "sum"), ("text_at", "max")])
    )
    tallies: dict[tuple[str, int] | None, _Tally] = {}
    for one in sums.to_pylist():
        tally = tallies.setdefault(place_of(one["file"], one["line"]), _Tally())
        tally.text_at = max(tally.text_at, -1 if one["text_at_max"] is None else one["text_at_max"])
        tally.executed += one["executed_sum"] or 0
        tally.samples += one["samples_sum"] or 0
    for one in _stalls(table).to_pylist():
        reason = STALLS_AS_SAMPLED.get(one["reason"], one["reason"])
        tallies[place_of(one["file"], one["line"])].stalls[reason] += one["count_sum"]
    return tallies


def _stalls(table: pa.Table) -> pa.Table:
    """Returns the samples by line and reason."""
    import pyarrow as pa

    stalls = table.column("stalls").combine_chunks()
    offsets = stalls.offsets.to_pylist()
    rows = [row for row, (start, end) in enumerate(pairwise(offsets)) for _ in range(start, end)]
    found = slice(offsets[0], offsets[-1])
    samples = (
        table.select(["file", "line"])
        .take(pa.array(rows, pa.int64()))
        .append_column("reason", stalls.keys[found])
        .append_column("count", stalls.items[found])
    )
    return samples.group_by(["file", "line", "reason"], use_threads=False).aggregate([("count", "sum")])
