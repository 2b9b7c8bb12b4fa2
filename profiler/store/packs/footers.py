"""Parquet files end to end in one file, under one footer: their bytes stay what they are.

A Parquet file's footer says where each column of each row group lies. Put several whole files into one, and a footer
with all their row groups, moved to where they now lie, makes it a Parquet file that any reader takes; what lies
between (the old footers) nobody looks at. Only footers are decoded here, from Thrift's compact protocol and back,
field by field, so that nothing is lost that this module does not know.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

MAGIC = b"PAR1"
_TAIL_BYTES = 8  # the footer's length and the magic
_STOP, _TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY = 0, 1, 2, 3, 7, 8
_INTEGERS = (4, 5, 6)
_LISTS, _MAP, _STRUCT = (9, 10), 11, 12

# Field numbers of parquet.thrift.
_SCHEMA, _ROWS, _GROUPS = 2, 3, 4  # of FileMetaData
_COLUMNS, _GROUP_ROWS, _GROUP_OFFSET, _ORDINAL = 1, 3, 5, 7  # of RowGroup
_CHUNK_OFFSETS, _CHUNK_META = (2, 4, 6), 3  # of ColumnChunk: itself, its indexes, its metadata
_META_OFFSETS = (9, 10, 11, 14)  # of ColumnMetaData: pages, dictionary, Bloom filter
_LAST_ORDINAL = (1 << 15) - 1

# A struct is its fields by number, each with its type; a list its element type and elements.
Struct = dict[int, tuple[int, Any]]


@dataclass
class JoinedFooter:
    """Grows by one file after the other; all of them have the schema of the first."""

    _first: Struct | None = None
    _groups: list[bytes] = field(default_factory=list)  # as they will be written: a tenth of the memory
    _rows: int = 0

    @property
    def row_groups(self) -> int:
        return len(self._groups)

    @property
    def schema(self) -> Any:
        """To compare with that of another file."""
        return self._first[_SCHEMA] if self._first else None

    def fits(self, footer: Struct) -> bool:
        return self._first is None or footer[_SCHEMA] == self.schema

    def append(self, footer: Struct, offset: int) -> None:
        """The file lies at `offset` of the joined one. Row groups without rows are left out."""
        if self._first is None:
            self._first = footer
        for group in footer[_GROUPS][1][1]:
            if group[_GROUP_ROWS][1]:
                _move(group, offset, len(self._groups))
                written = bytearray()
                _write_struct(written, group)
                self._groups.append(bytes(written))
                self._rows += group[_GROUP_ROWS][1]

    def encode(self) -> bytes:
        """What ends the joined file."""
        assert self._first is not None
        footer = self._first | {_ROWS: (6, self._rows), _GROUPS: (9, (_STRUCT, self._groups))}
        out = bytearray()
        _write_struct(out, footer)
        return bytes(out) + struct.pack("<I", len(out)) + MAGIC


def read_footer(data: bytes) -> Struct:
    """Of a whole Parquet file; ValueError where it is none."""
    if len(data) < _TAIL_BYTES or data[-4:] != MAGIC:
        raise ValueError("not a Parquet file")
    (length,) = struct.unpack_from("<I", data, len(data) - _TAIL_BYTES)
    start = len(data) - _TAIL_BYTES - length
    if start < 0:
        raise ValueError("its footer is cut off")
    try:
        return _Reader(data, start).struct()
    except (IndexError, KeyError, struct.error) as error:
        raise ValueError(f"its footer cannot be read: {error}") from error


def _move(group: Struct, offset: int, ordinal: int) -> None:
    """Offsets count from the start of the file; one of 0 says that there is none."""
    group.pop(_ORDINAL, None)
    if ordinal <= _LAST_ORDINAL:
        group[_ORDINAL] = (4, ordinal)

    def shift(fields: Struct, number: int) -> None:
        if number in fields and fields[number][1]:
            kind, value = fields[number]
            fields[number] = (kind, value + offset)

    shift(group, _GROUP_OFFSET)
    for chunk in group[_COLUMNS][1][1]:
        for number in _CHUNK_OFFSETS:
            shift(chunk, number)
        for number in _META_OFFSETS:
            shift(chunk[_CHUNK_META][1], number)


class _Reader:
    def __init__(self, data: bytes, position: int) -> None:
        self._data = data
        self._at = position

    def struct(self) -> Struct:
        fields: Struct = {}
        number = 0
        while (header := self._byte()) != _STOP:
            kind = header & 0x0F
            number = number + (header >> 4) if header >> 4 else self._integer()
            # A truth value is in its type.
            fields[number] = (kind, None if kind in (_TRUE, _FALSE) else self._value(kind))
        return fields

    def _value(self, kind: int) -> Any:
        if kind in _INTEGERS:
            return self._integer()
        if kind == _BINARY:
            return self._bytes(self._varint())
        if kind == _STRUCT:
            return self.struct()
        if kind in _LISTS:
            return self._list()
        if kind == _MAP:
            return self._map()
        if kind == _DOUBLE:
            return self._bytes(8)
        if kind in (_TRUE, _FALSE, _BYTE):  # in a list, a truth value is a byte
            return self._byte()
        raise ValueError(f"type {kind} is not one of Thrift's")

    def _list(self) -> tuple[int, list[Any]]:
        header = self._byte()
        kind, size = header & 0x0F, header >> 4
        if size == 0x0F:
            size = self._varint()
        return kind, [self._value(kind) for _ in range(size)]

    def _map(self) -> tuple[int, int, list[tuple[Any, Any]]]:
        size = self._varint()
        kinds = self._byte() if size else 0
        key, value = kinds >> 4, kinds & 0x0F
        return key, value, [(self._value(key), self._value(value)) for _ in range(size)]

    def _byte(self) -> int:
        self._at += 1
        return self._data[self._at - 1]

    def _bytes(self, count: int) -> bytes:
        self._at += count
        return self._data[self._at - count : self._at]

    def _varint(self) -> int:
        value = shift = 0
        while (byte := self._byte()) & 0x80:
            value |= (byte & 0x7F) << shift
            shift += 7
        return value | byte << shift

    def _integer(self) -> int:
        value = self._varint()
        return value >> 1 ^ -(value & 1)


def _write_struct(out: bytearray, fields: Struct | bytes) -> None:
    """Its fields, or what was written of them before."""
    if isinstance(fields, bytes):
        out += fields
        return
    before = 0
    for number, (kind, value) in sorted(fields.items()):
        if 0 < number - before <= 0x0F:
            out.append((number - before) << 4 | kind)
        else:
            out.append(kind)
            _write_integer(out, number)
        before = number
        if kind not in (_TRUE, _FALSE):
            _write_value(out, kind, value)
    out.append(_STOP)


def _write_value(out: bytearray, kind: int, value: Any) -> None:
    if kind in _LISTS:
        _write_list(out, value)
    elif kind == _MAP:
        _write_map(out, value)
    else:
        _WRITERS[kind](out, value)


def _write_list(out: bytearray, value: tuple[int, list[Any]]) -> None:
    kind, members = value
    out.append(min(len(members), 0x0F) << 4 | kind)
    if len(members) >= 0x0F:
        _write_varint(out, len(members))
    for member in members:
        _write_value(out, kind, member)


def _write_map(out: bytearray, value: tuple[int, int, list[tuple[Any, Any]]]) -> None:
    key_kind, kind, members = value
    _write_varint(out, len(members))
    if members:
        out.append(key_kind << 4 | kind)
    for key, member in members:
        _write_value(out, key_kind, key)
        _write_value(out, kind, member)


def _write_varint(out: bytearray, value: int) -> None:
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)


def _write_integer(out: bytearray, value: int) -> None:
    _write_varint(out, value << 1 ^ value >> 63)


def _write_bytes(out: bytearray, value: bytes) -> None:
    _write_varint(out, len(value))
    out += value


_WRITERS: dict[int, Callable[[bytearray, Any], None]] = {
    _TRUE: bytearray.append,
    _FALSE: bytearray.append,
    _BYTE: bytearray.append,
    **dict.fromkeys(_INTEGERS, _write_integer),
    _DOUBLE: bytearray.extend,
    _BINARY: _write_bytes,
    _STRUCT: _write_struct,
}
