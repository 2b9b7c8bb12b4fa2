"""Joins Parquet files end to end in one file under one footer; the bytes of each file stay as they are.

A Parquet footer says where each column of each row group lies. So several whole files, followed by a footer
that lists all their row groups at their new offsets, are one Parquet file for every reader; nobody looks at
the old footers.

pyarrow cannot do this: it joins the footers of files that stay apart, and does not move offsets. It could
encode the tables anew, one row group for each run, but a pack would then break two promises. The SHA-256 of a
table in its run's manifest could not be checked any more. And one table could not be read in one request: its
row group is useless without the pack's footer, which has 1.5 MB for the metrics of 2000 runs, while a whole
file within the pack needs no other byte.

So this module moves the offsets itself, and keeps the fields of a footer that it does not know.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

from profiler.store.tables.thrift import I64, LIST, STRUCT, Struct, decode_struct, encode_struct

MAGIC = b"PAR1"
_TAIL_BYTES = 8  # the footer's length and the magic
# Field numbers of parquet.thrift.
_SCHEMA, _ROWS, _GROUPS = 2, 3, 4  # of FileMetaData
_COLUMNS, _GROUP_ROWS, _GROUP_OFFSET, _ORDINAL = 1, 3, 5, 7  # of RowGroup
_CHUNK_OFFSETS, _CHUNK_META = (2, 4, 6), 3  # of ColumnChunk: itself, its indexes, its metadata
_META_OFFSETS = (9, 10, 11, 14)  # of ColumnMetaData: pages, dictionary, Bloom filter


@dataclass
class JoinedFooter:
    """The footer of the joined file, to which one file after the other is appended; all have the schema of
    the first.
    """

    _first: Struct | None = None
    _groups: list[bytes] = field(default_factory=list)  # encoded, which takes a tenth of the memory
    _rows: int = 0

    @property
    def row_groups(self) -> int:
        return len(self._groups)

    def fits(self, footer: Struct) -> bool:
        """Returns whether a file with this footer may be appended."""
        return self._first is None or footer[_SCHEMA] == self._first[_SCHEMA]

    def append(self, footer: Struct, offset: int) -> None:
        """Adds the row groups of a file that lies at `offset` of the joined one, except those without rows."""
        if self._first is None:
            self._first = footer
        for group in footer[_GROUPS][1][1]:
            if group[_GROUP_ROWS][1]:
                _move(group, offset)
                self._groups.append(encode_struct(group))
                self._rows += group[_GROUP_ROWS][1]

    def encode(self) -> bytes:
        """Returns the bytes that end the joined file."""
        assert self._first is not None
        footer = self._first | {_ROWS: (I64, self._rows), _GROUPS: (LIST, (STRUCT, self._groups))}
        out = encode_struct(footer)
        return out + struct.pack("<I", len(out)) + MAGIC


def read_footer(data: bytes) -> Struct:
    """Decodes the footer of a whole Parquet file; ValueError for one that cannot be joined with others."""
    if len(data) < _TAIL_BYTES or data[-4:] != MAGIC:
        raise ValueError("not a Parquet file")
    (length,) = struct.unpack_from("<I", data, len(data) - _TAIL_BYTES)
    start = len(data) - _TAIL_BYTES - length
    if start < 0:
        raise ValueError("its footer is cut off")
    try:
        JoinedFooter().append(decode_struct(data[start:])[0], 0)
        return decode_struct(data[start:])[0]  # again, since joining changes it
    except (ValueError, LookupError, TypeError) as error:
        raise ValueError(f"its footer cannot be read: {error}") from error


def _move(group: Struct, offset: int) -> None:
    """Shifts all offsets of a row group, which count from the start of the file; an offset of 0 means that
    there is none.
    """
    group.pop(_ORDINAL, None)  # it is optional, and only encrypted files need it

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
