"""The tables that a query may name: those of all runs, verified as recorded, and the list of runs itself."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from pyarrow.fs import LocalFileSystem

from profiler.errors import RunDamaged, RunUnusable
from profiler.store.packs.layout import PackedFiles
from profiler.store.runs.files import read_ahead
from profiler.store.runs.manifest import Manifest
from profiler.store.tables.reading import require_bounded
from profiler.store.tables.schema import TABLES, arrow_schema

if TYPE_CHECKING:
    from profiler.store.runs.run import Run
    from profiler.store.runs.run_store import RunStore

# A file and its row groups, None for all of them; or a table in memory.
_Part: TypeAlias = "tuple[Path, list[int] | None] | pa.Table"
_Opened: TypeAlias = "tuple[pq.FileMetaData, memoryview]"
NAMES = (*TABLES, "runs")
_AT_ONCE = 64


def describe_tables() -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
    """Returns a header and one row for each column of each table."""
    rows: list[tuple[Any, ...]] = [
        (table.name, column.name, column.unit, column.doc)
        for table in TABLES.values()
        for column in table.columns
    ]
    rows += (("runs", name, "", meaning) for name, (_, meaning) in _RUNS.items())
    return ("table", "column", "unit", "meaning"), rows


def dataset_of(store: RunStore, runs: list[Run], name: str) -> pa.Table | ds.Dataset:
    """Returns one table of all runs, in the order of the runs: a query without ORDER BY shows it."""
    schema, files, format = arrow_schema(name), LocalFileSystem(), ds.ParquetFileFormat()
    held = [
        part if isinstance(part, pa.Table) else format.make_fragment(str(part[0]), files, row_groups=part[1])
        for part in _joined(_parts(store, runs, name))
    ]
    if not held:
        return schema.empty_table()
    children = [
        ds.dataset(list(some)) if are_tables else ds.FileSystemDataset(list(some), schema, format, files)
        for are_tables, some in groupby(held, lambda one: isinstance(one, pa.Table))
    ]
    return ds.UnionDataset(schema, children)


def _joined(parts: Iterable[_Part]) -> list[_Part]:
    """Returns the parts, with neighbouring row groups of one file as one part; without a file's row groups, it is whole."""
    joined: list[_Part] = []
    for part in parts:
        last = joined[-1] if joined else None
        if isinstance(part, pa.Table) or part[1] is None:
            joined.append(part)
        elif isinstance(last, tuple) and last[0] == part[0] and last[1] is not None:
            last[1].extend(part[1])
        elif part[1]:
            joined.append((part[0], list(part[1])))
    return joined


def _parts(store: RunStore, runs: list[Run], name: str) -> Iterator[_Part]:
    """Yields each whole run's verified file and row groups. From a URL, many are fetched at a time.

    Where the table of a whole pack is damaged, each run's part of it may still be whole, and is read alone.
    """
    opened: dict[Path, _Opened] = {}  # the last file, which many runs share in a pack
    for start in range(0, len(runs), _AT_ONCE):
        some = runs[start : start + _AT_ONCE]
        read_ahead([run.files for run in some if run.is_far and not isinstance(run.files, PackedFiles)], name)
        for run in some:
            try:
                yield _part(run, name, opened)
            except RunUnusable as error:
                store.leave_out(run.manifest.run_id, error)


def _part(run: Run, name: str, opened: dict[Path, _Opened]) -> _Part:
    """Returns one run's part of a table. It is read here, with care, where DuckDB would read it and write out long lists of text."""
    try:
        path, groups = run.parquet(name)
    except RunUnusable:
        if not isinstance(run.files, PackedFiles):
            raise
        return run.table(name)
    where, rows = run.files.shown_table(name), run.manifest.tables[name].rows
    if path not in opened:
        opened.clear()
        try:
            data = pa.memory_map(str(path)).read_buffer()
            opened[path] = pq.read_metadata(pa.BufferReader(data)), memoryview(data)
        except (pa.ArrowException, OSError) as error:
            raise RunDamaged(f"{where}: cannot be read as Parquet: {error}") from error
    decoded = require_bounded(*opened[path], rows, where, groups)
    if decoded.with_text > decoded.most:
        return run.table(name)
    return path, None if groups is None else list(groups)


def runs_table(manifests: Iterable[Manifest]) -> pa.Table:
    """Returns one row for each run, with plain columns: the table `runs`."""
    rows = [
        {name: getattr(manifest, name, None) for name in _RUNS}
        | {
            "workload": None
            if manifest.workload is None
            else " ".join(f"{name}={size}" for name, size in manifest.workload.items()),
            "gpu": ", ".join(manifest.gpus),
            "report_sha256": manifest.sha256 if manifest.reports else None,
        }
        for manifest in manifests
    ]
    return pa.Table.from_pylist(rows, schema=pa.schema([(name, kind) for name, (kind, _) in _RUNS.items()]))


# The columns of the table `runs`, with their meaning.
_RUNS: dict[str, tuple[pa.DataType, str]] = {
    "run_id": (pa.string(), "the run's time, name and start of its hash"),
    "name": (pa.string(), "the name under which the run is stored: that of the report, or of the rung"),
    "ladder": (pa.string(), "the ladder that the run is a rung of; null for any other program"),
    "kernel": (pa.int64(), "the rung's number: the name of a kernel stands in launches"),
    "workload": (pa.string(), "the problem's size, such as m=4096 n=4096; null where it is not recorded"),
    "origin": (pa.string(), "how the run came here: ingested, collected or timed"),
    "recorded": (pa.string(), "when the report was made, in UTC"),
    "launches": (pa.int64(), "how many launches it holds"),
    "gpu": (pa.string(), "the names of its GPUs"),
    "ncu_version": (pa.string(), "the version of Nsight Compute that recorded it"),
    "clock_control": (pa.string(), "whether ncu fixed the clocks: none or base"),
    "report_sha256": (pa.string(), "of the report; null for a run of times alone"),
}
