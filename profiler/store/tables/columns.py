"""Builds the columns of a declared table from Python values, and reads text columns back."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any, TypeVar

from profiler.store.tables.schema import TABLES, arrow_schema, check_table
from profiler.text import finite

if TYPE_CHECKING:
    import pyarrow as pa  # whose import takes a third of a short verb's time

_Value = TypeVar("_Value")


class Labels:
    """A text column in which few values repeat often; each value is stored once."""

    def __init__(self) -> None:
        self._codes: list[int | None] = []
        self._code_of: dict[str, int] = {}

    def append(self, value: str | None) -> None:
        self._codes.append(None if value is None else self._code(value))

    def repeat(self, value: str | None, count: int) -> None:
        self._codes.extend([None if value is None else self._code(value)] * count)

    def extend(self, values: Iterable[str | None]) -> None:
        code = self._code
        self._codes.extend([None if value is None else code(value) for value in values])

    def finish(self) -> pa.DictionaryArray:
        import pyarrow as pa

        values = _text_array(list(self._code_of))
        return pa.DictionaryArray.from_arrays(pa.array(self._codes, pa.int32()), values)

    def _code(self, value: str) -> int:
        return self._code_of.setdefault(value, len(self._code_of))


class TableBuilder:
    """Collects the columns of one table, by name in `columns`, until `finish` makes them a table."""

    def __init__(self, name: str, run_id: str) -> None:
        self.name = name
        self._run_id = run_id
        self._types = {column.name: column.type for column in TABLES[name].columns}
        self.columns: dict[str, Any] = {
            column: Labels() if kind == "label" else []
            for column, kind in self._types.items()
            if column != "run_id"
        }

    def append(self, **row: Any) -> None:
        """Adds one row, with null in the columns that are not named."""
        for name, column in self.columns.items():
            column.append(row.get(name))

    def finish(self) -> pa.Table:
        import pyarrow as pa

        schema = arrow_schema(self.name)
        arrays = {
            name: column.finish()
            if isinstance(column, Labels)
            else pa.array(
                _valid_ranges(column) if self._types[name] == "nvtx" else column, schema.field(name).type
            )
            for name, column in self.columns.items()
        }
        rows = len(next(iter(arrays.values())))
        labels = Labels()
        labels.repeat(self._run_id, rows)
        arrays["run_id"] = labels.finish()
        table = pa.table([arrays[name] for name in schema.names], schema=schema)
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


def _text_array(values: Sequence[str]) -> pa.Array:
    """Makes an array of names.

    Parts that are not valid Unicode become U+FFFD, since names come from anybody's program.
    """
    import pyarrow as pa

    try:
        return pa.array(values, pa.string())
    except UnicodeEncodeError:
        return pa.array([valid_unicode(value) for value in values], pa.string())


def valid_unicode(value: str) -> str:
    return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def json_text(value: Any) -> str:
    """Encodes a value as JSON. Numbers that JSON cannot hold become null, and objects of other types text."""
    return json.dumps(finite(value), default=str)


def _valid_ranges(cells: list[list[dict[str, str]]]) -> list[list[dict[str, str]]]:
    """Makes the text in NVTX ranges valid Unicode: it is the only text outside of Labels."""
    return [[{key: valid_unicode(text) for key, text in one.items()} for one in cell] for cell in cells]
