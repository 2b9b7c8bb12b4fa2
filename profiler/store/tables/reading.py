"""Reads the Parquet file of a stranger, and takes no more memory than a file of that size may need.

A few kilobytes can decode to any size: a run of one repeated value, a page that decompresses without end, or a list
of a million copies of one long text. Arrow allocates what the header of each page says, so the headers are added up
first. The footer alone would not do, since it may state less. Text is read as dictionaries. Text in lists becomes
plain text: at once if it cannot be too much however often each value is there, or else when its length is known.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from profiler.errors import RunDamaged
from profiler.machine import find_shortage
from profiler.store.tables.thrift import Struct, decode_struct

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

_ALWAYS_BYTES = 256 << 20
_MOST_RATIO = 1000  # the tables in the runs of this repository reach 131
_MOST_BYTES = 16 << 30
_BYTES_A_VALUE = 8
_MOST_HEADER_BYTES = 1 << 16
_MOST_PAGES = 1_000_000  # whose headers take some 20 s to read; a page usually has 1 MiB
# Of a page's header: its type, its size once decompressed, its size in the file, and what follows for each kind of page,
# whose first field is the number of values.
_TYPE, _PLAIN_BYTES, _STORED_BYTES, _KINDS, _VALUES = 1, 2, 3, (5, 7, 8), 1
# By the type of a page of values: what follows for it, and which field of that is the encoding; and the encodings as places in a dictionary.
_ENCODING_OF, _IN_DICTIONARY = {0: (5, 2), 3: (8, 4)}, (2, 8)


@dataclass
class DecodedBytes:
    """The bytes that row groups take in the file, in memory, and in memory with the text of lists written out."""

    pages: int = 0
    stored: int = 0
    plain: int = 0
    with_text: int = 0

    @property
    def most(self) -> int:
        return min(_MOST_BYTES, max(_ALWAYS_BYTES, self.stored * _MOST_RATIO))


def read_table(data: bytes, schema: pa.Schema, rows: int, where: str, *, whole: bool = True) -> pa.Table:
    """Reads a table, or the schema's columns of it if not `whole`.

    RunDamaged when it is not Parquet, has other rows than recorded, or would take too much memory.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        metadata = pq.read_metadata(pa.BufferReader(data))
        some = None if whole else frozenset(schema.names)
        decoded = require_bounded(metadata, memoryview(data), rows, where, some=some)
        is_small = decoded.with_text <= decoded.most
        columns = (metadata.schema.column(index) for index in _columns_of(metadata, some))
        texts = [
            column.path
            for column in columns
            if column.physical_type == "BYTE_ARRAY" and not (is_small and "." in column.path)
        ]
        file = pq.ParquetFile(pa.BufferReader(data), metadata=metadata, read_dictionary=texts)
        # In this thread alone: a thread of Arrow that still starts when a command ends aborts it with a meaningless code.
        table = file.read(None if whole else schema.names, use_threads=False)
        table.validate(full=True)  # a column may have fewer values than the others, or codes of no text
        table = _as_declared(table, schema, decoded.most, where)
    except (pa.ArrowException, OSError) as error:
        if shortage := find_shortage(error):
            raise shortage from error
        raise RunDamaged(f"{where}: cannot be read as Parquet: {error}") from error
    return table


def _as_declared(table: pa.Table, schema: pa.Schema, most: int, where: str) -> pa.Table:
    """Returns the table with the types of the schema, except for texts that are kept once each.

    RunDamaged if a text that is written out would take more than `most` bytes.
    """
    import pyarrow as pa

    for index, name in enumerate(table.column_names):
        column = table.column(index)
        if name not in schema.names or pa.types.is_dictionary(column.type):
            continue
        field = schema.field(name)
        if column.type != field.type:
            if sum(map(_text_bytes, column.chunks)) > most:
                raise RunDamaged(f"{where}: the text of column {name!r} would take more than {most:,} bytes")
            table = table.set_column(index, field, column.cast(field.type))
    return table


def require_bounded(
    metadata: pq.FileMetaData,
    data: memoryview,
    rows: int,
    where: str,
    groups: Iterable[int] | None = None,
    some: Collection[str] | None = None,
) -> DecodedBytes:
    """Returns what these row groups decode to, or `some` of their columns.

    RunDamaged if that is too much, or if they have other rows than recorded.
    """
    try:
        chosen = [
            metadata.row_group(one) for one in (range(metadata.num_row_groups) if groups is None else groups)
        ]
    except (IndexError, OverflowError) as error:
        raise RunDamaged(f"{where}: its row groups are not there: {error}") from error
    if (stated := sum(group.num_rows for group in chosen)) != rows:
        raise RunDamaged(f"{where}: {stated} rows, and {rows} were recorded")
    decoded = DecodedBytes()
    columns = _columns_of(metadata, some)
    for chunk in (group.column(index) for group in chosen if group.num_rows for index in columns):
        try:
            _add(decoded, chunk, data)
        except (ValueError, KeyError, IndexError, TypeError) as error:
            raise RunDamaged(f"{where}: a page of column {chunk.path_in_schema!r} is malformed") from error
    decoded.stored = min(decoded.stored, len(data))  # many row groups may lie at the same place
    if decoded.plain > decoded.most:
        raise RunDamaged(f"{where}: {decoded.stored:,} bytes would decode to {decoded.plain:,}")
    return decoded


def _columns_of(metadata: pq.FileMetaData, some: Collection[str] | None) -> list[int]:
    """Returns the places of all columns, or of `some`; a column of lists or structs has several."""
    return [
        index
        for index in range(len(metadata.schema))
        if some is None or metadata.schema.column(index).path.partition(".")[0] in some
    ]


def _add(decoded: DecodedBytes, chunk: pq.ColumnChunkMetaData, data: memoryview) -> None:
    """Adds a column chunk, as the headers of its pages describe it."""
    position = chunk.data_page_offset
    if chunk.dictionary_page_offset and chunk.dictionary_page_offset < position:
        position = chunk.dictionary_page_offset
    end, values, largest = position + chunk.total_compressed_size, 0, 0
    while position < end:
        header, size = decode_struct(data[position : min(end, position + _MOST_HEADER_BYTES)])
        plain, stored = header[_PLAIN_BYTES][1], header[_STORED_BYTES][1]
        here = sum(header[kind][1][_VALUES][1] for kind in _KINDS if kind in header)
        if min(plain, stored, here) < 0:
            raise ValueError("a negative size")
        decoded.pages += 1
        if decoded.pages > _MOST_PAGES:
            raise ValueError("too many pages")
        decoded.plain += plain + here * _BYTES_A_VALUE
        values += here
        if not _is_in_dictionary(header):
            largest = max(largest, plain)
        position += size + stored
    decoded.stored += chunk.total_compressed_size
    if chunk.physical_type == "BYTE_ARRAY" and "." in chunk.path_in_schema:
        decoded.with_text += values * largest


def _is_in_dictionary(header: Struct) -> bool:
    """Returns whether a page holds places in the dictionary, whose own page says then how long a text can be."""
    if header[_TYPE][1] not in _ENCODING_OF:
        return False
    kind, encoding = _ENCODING_OF[header[_TYPE][1]]
    return header[kind][1][encoding][1] in _IN_DICTIONARY


def _text_bytes(array: pa.Array) -> int:
    """Returns the bytes of all text in lists that were read as dictionaries."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(array.type):
        lengths = pc.binary_length(array.dictionary).take(array.indices)
        return int(pc.sum(lengths).as_py() or 0)
    return sum(map(_text_bytes, _members(array)))


def _members(array: pa.Array) -> Iterator[pa.Array]:
    import pyarrow as pa

    if pa.types.is_map(array.type):
        yield from (array.keys, array.items)
    elif pa.types.is_list(array.type):
        yield array.flatten()
    elif pa.types.is_struct(array.type):
        yield from (array.field(index) for index in range(array.type.num_fields))
