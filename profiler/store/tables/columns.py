"""Builds the columns of a declared table from Python values, and reads text columns back."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator
from itertools import groupby
from typing import TYPE_CHECKING, Any, TypeVar

from profiler.store.tables.schema import TABLES, arrow_schema, check_table
from profiler.text import finite

if TYPE_CHECKING:
    import pyarrow as pa  # whose import takes a third of a short verb's time

_Value = TypeVar("_Value")


class TableBuilder:
    """Collects the columns of one table, as lists by name in `columns`, until `finish` makes them a table."""

    def __init__(self, name: str, run_id: str) -> None:
        self.name = name
        self._run_id = run_id
        self.columns: dict[str, list[Any]] = {
            column.name: [] for column in TABLES[name].columns if column.name != "run_id"
        }

    def append(self, **row: Any) -> None:
        """Adds one row, with null in the columns that are not named."""
        for name, column in self.columns.items():
            column.append(row.get(name))

    def finish(self) -> pa.Table:
        import pyarrow as pa

        schema = arrow_schema(self.name)
        rows = len(next(iter(self.columns.values())))
        values = {**self.columns, "run_id": [self._run_id] * rows}
        table = pa.table([_array(values[field.name], field.type) for field in schema], schema=schema)
        return check_table(table, self.name, f"new table '{self.name}'")


def labels_of(table: pa.Table, column: str) -> list[Any]:
    """Returns a text column as strings and None; many times faster than `to_pylist`."""
    labels: list[Any] = []
    for chunk in table.column(column).chunks:
        codes = chunk.indices.to_pylist()
        if len(codes) < len(chunk.dictionary):  # a part of a table: most of its texts are not needed
            text = {code: chunk.dictionary[code].as_py() for code in set(codes) - {None}}
        else:
            text = dict(enumerate(chunk.dictionary.to_pylist()))
        text[None] = None
        labels += [text[code] for code in codes]
    return labels


def distinct_labels(table: pa.Table, column: str) -> set[str]:
    """Returns the texts that a text column may hold, which it stores once each: a part of a table may lack some of them."""
    return {text for chunk in table.column(column).chunks for text in chunk.dictionary.to_pylist()}


def rows_labelled(table: pa.Table, column: str, labels: Collection[str]) -> pa.Table:
    """Returns the rows that have one of these texts in a text column, in one piece; the others are never made into Python's objects."""
    import pyarrow as pa

    parts, passed = [], 0
    for chunk in table.column(column).chunks:
        codes = {code for code, text in enumerate(chunk.dictionary.to_pylist()) if text in labels}
        if codes:
            equal = find_stretches(chunk.indices.to_pylist())
            parts += [table.slice(passed + start, length) for code, start, length in equal if code in codes]
        passed += len(chunk)
    return pa.concat_tables(parts or [table.slice(0, 0)]).combine_chunks()


def find_stretches(values: Iterable[_Value]) -> Iterator[tuple[_Value, int, int]]:
    """Yields each value once for the equal ones that follow one another, with where they start and how many they are."""
    start = 0
    for value, equal in groupby(values):
        length = len(list(equal))
        yield value, start, length
        start += length


def _array(values: list[Any], kind: pa.DataType) -> pa.Array:
    """Makes a column. Text in it may come from anybody's program: what is no valid Unicode becomes U+FFFD."""
    import pyarrow as pa

    try:
        return pa.array(values, kind)
    except UnicodeEncodeError:
        return pa.array(_with_valid_text(values), kind)


def _with_valid_text(value: Any) -> Any:
    if isinstance(value, str):
        return valid_unicode(value)
    if isinstance(value, dict):
        return {key: _with_valid_text(member) for key, member in value.items()}
    return [_with_valid_text(one) for one in value] if isinstance(value, list) else value


def valid_unicode(value: str) -> str:
    return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def json_text(value: Any) -> str:
    """Encodes a value as JSON. Numbers that JSON cannot hold become null, and objects of other types text."""
    return json.dumps(finite(value), default=str)
