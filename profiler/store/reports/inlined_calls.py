"""Finds the calls that a compiler replaced by the code of the function that they call, which NVIDIA's reader does not tell.

In: a report. Out: for an instruction, the source lines of these calls, the innermost first.

A report holds machine code as the ELF files that the driver loaded. The line table of such a file (`.debug_line` of DWARF) has rows of an
address, a file and a line. An opcode of NVIDIA's own gives a row a context: the number of the row of the call that its code replaced.
Readers of DWARF, such as pyelftools, skip that opcode. Where a file is not as expected, no call is known, because nothing else in the
report depends on it.
"""

from __future__ import annotations

import mmap
import struct
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from posixpath import normpath
from typing import NamedTuple

from profiler.store.reports.envelope import code_in
from profiler.store.tables.instruction_text import CalledAt
from profiler.store.tables.thrift import read_varint

_MOST_CALLS = 32  # one within the other
_LAST_LINE = 2**31 - 1  # that a table of instructions can hold
_ODD = (struct.error, ValueError, LookupError, ArithmeticError)  # what a file raises that is not as expected

# Name, type, flags, address, offset, size, link, info, alignment, size of an entry.
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")  # name, info, other, section, value, size
_RELOCATION = struct.Struct("<QQq")  # offset, symbol and type, addend
_HEADER = struct.Struct("<IHI")  # of a line table: length, version, length of the rest of the header
# Shortest instruction, default, line base, line range, first special opcode.
_SETTINGS = struct.Struct("<BBbBB")
_TABLE, _RELOCATIONS, _SYMBOLS, _CODE = ".debug_line", ".rela.debug_line", ".symtab", ".text."
_VERSION = 2  # of DWARF's line tables, which NVIDIA's compilers write

_U16 = struct.Struct("<H")
_COPY, _ADVANCE_ADDRESS, _ADVANCE_LINE, _SET_FILE, _ADD_CONSTANT, _ADD_FIXED = 1, 2, 3, 4, 8, 9
_END_OF_SEQUENCE, _SET_ADDRESS, _INLINED_CALL = 0x01, 0x02, 0x90  # extended opcodes; the last is NVIDIA's


class _Row(NamedTuple):
    address: int
    file: int
    line: int
    context: int  # the number of the row of the call, from 1; 0 for none


_FIRST = _Row(address=0, file=1, line=1, context=0)


class LineTable:
    """The rows of a function in the order in which they were written, and the files that they name by number."""

    def __init__(self, files: Sequence[str]) -> None:
        self._files, self._rows = files, list[_Row]()

    def append(self, row: _Row) -> None:
        self._rows.append(row)

    def calls(self, offset: int, file: str, line: int) -> tuple[CalledAt, ...]:
        """Returns the calls around this line, the innermost first, that the code at this offset replaced; none if the line is not of that code.

        NVIDIA's reader gives some code the line of such a call.
        """
        place = bisect_right(self._by_address, offset, key=lambda row: row.address) - 1
        if place < 0:
            return ()
        row = self._by_address[place]
        lines = [self._at(row)]
        while 0 < row.context <= len(self._rows) and len(lines) <= _MOST_CALLS:
            row = self._rows[row.context - 1]
            lines.append(self._at(row))
        here = CalledAt(file, line)
        said = lines.index(here) if here in lines else len(lines)
        return tuple(one for one in lines[said + 1 :] if one)

    def _at(self, row: _Row) -> CalledAt | None:
        """Returns the line of a row; None if there is no such file or line, as where the table is damaged."""
        is_known = 0 < row.file <= len(self._files) and 0 < row.line <= _LAST_LINE
        return CalledAt(self._files[row.file - 1], row.line) if is_known else None

    @cached_property
    def _by_address(self) -> list[_Row]:
        return sorted(self._rows, key=lambda row: row.address)


def read_line_tables(report: Path) -> dict[int, LineTable]:
    """Returns the line tables of the functions in a report by the addresses at which they start."""
    found: dict[int, LineTable] = {}
    with report.open("rb") as file:
        data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)  # a report may be larger than memory
    for elf, functions in code_in(memoryview(data)):
        tables = _line_tables(bytes(elf))
        found.update((address, tables[name]) for address, name in functions.items() if name in tables)
    return found


def _line_tables(elf: bytes) -> dict[str, LineTable]:
    """Returns the line tables of an ELF file by the names of the functions."""
    try:
        file = _Elf(elf)
        return dict(_read_tables(file.section(_TABLE), file.code_by_place()))
    except _ODD:
        return {}


class _Elf:
    def __init__(self, data: bytes) -> None:
        self._data = data
        (start,) = struct.unpack_from("<Q", data, 40)
        size, count, names = struct.unpack_from("<HHH", data, 58)
        self._headers = [_SECTION.unpack_from(data, start + place * size) for place in range(count)]
        self._names = [_text(data, self._headers[names][4] + header[0]) for header in self._headers]

    def section(self, name: str) -> bytes:
        header = self._headers[self._names.index(name)]
        return self._data[header[4] : header[4] + header[5]]

    def code_by_place(self) -> dict[int, tuple[str, int]]:
        """Returns by the places in the line table at which an address stands: of which function it is, and how far in it."""
        symbols = list(_SYMBOL.iter_unpack(self.section(_SYMBOLS)))
        found = {}
        for place, info, addend in _RELOCATION.iter_unpack(self.section(_RELOCATIONS)):
            _, _, _, section, value, _ = symbols[info >> 32]
            found[place] = self._names[section].removeprefix(_CODE), value + addend
        return found


class _Bytes:
    """Reads numbers and texts one after the other."""

    def __init__(self, data: bytes, place: int = 0) -> None:
        self.data, self.place = data, place

    def take(self, kind: struct.Struct) -> tuple[int, ...]:
        values = kind.unpack_from(self.data, self.place)
        self.place += kind.size
        return values

    def byte(self) -> int:
        value = self.data[self.place]
        self.place += 1
        return value

    def number(self, *, signed: bool = False) -> int:
        start = self.place
        value, self.place = read_varint(self.data, start)
        is_negative = signed and self.data[self.place - 1] & 0x40
        return value - (1 << 7 * (self.place - start)) if is_negative else value

    def text(self) -> str:
        text = _text(self.data, self.place)
        self.place = self.data.index(0, self.place) + 1
        return text

    def texts(self) -> Iterator[str]:
        """Yields texts up to an empty one."""
        while text := self.text():
            yield text


def _text(data: bytes, start: int) -> str:
    return data[start : data.index(0, start)].decode()


class _Settings(NamedTuple):
    """How the opcodes of a line table are to be read."""

    step: int  # bytes of the shortest instruction
    line_base: int
    line_range: int
    first_special: int  # opcode, which moves both address and line
    operands: Sequence[int]  # how many numbers follow each opcode, from 1


def _read_tables(data: bytes, code: Mapping[int, tuple[str, int]]) -> Iterator[tuple[str, LineTable]]:
    """Yields the name of each function with its line table. `code` says by where an address stands in the data of which function it is."""
    start = 0
    while start < len(data):
        reader = _Bytes(data, start)
        length, version, rest = reader.take(_HEADER)
        if version != _VERSION:
            return
        step, _, line_base, line_range, first_special = reader.take(_SETTINGS)
        operands = [reader.byte() for _ in range(first_special - 1)]
        files = list(_read_files(reader))
        reader.place, start = start + _HEADER.size + rest, start + 4 + length
        yield from _run(
            reader, start, _Settings(step, line_base, line_range, first_special, operands), files, code
        )


def _read_files(reader: _Bytes) -> Iterator[str]:
    folders = list(reader.texts())
    for name in reader.texts():
        folder, _, _ = (reader.number() for _ in range(3))  # and a time, and a size
        yield normpath(f"{folders[folder - 1]}/{name}") if folder else name


def _run(
    reader: _Bytes, end: int, settings: _Settings, files: Sequence[str], code: Mapping[int, tuple[str, int]]
) -> Iterator[tuple[str, LineTable]]:
    """Yields what the opcodes up to the end make: a line table for each function."""
    name, table, row = "", LineTable(files), _FIRST
    while reader.place < end:
        opcode = reader.byte()
        if opcode:
            row = _moved(row, opcode, reader, settings)
            if opcode == _COPY or opcode >= settings.first_special:
                table.append(row)
            continue
        behind = reader.number() + reader.place
        extended = reader.byte()
        if extended == _SET_ADDRESS:
            name, address = code[reader.place]
            row = row._replace(address=address)
        elif extended == _INLINED_CALL:
            row = row._replace(context=reader.number())
        elif extended == _END_OF_SEQUENCE:
            yield name, table
            name, table, row = "", LineTable(files), _FIRST
        reader.place = behind


def _moved(row: _Row, opcode: int, reader: _Bytes, settings: _Settings) -> _Row:
    """Returns the row that an opcode makes of the one before."""
    step, line_base, line_range, first_special, operands = settings
    if opcode >= first_special:
        addresses, lines = divmod(opcode - first_special, line_range)
        return row._replace(address=row.address + addresses * step, line=row.line + line_base + lines)
    if opcode == _ADVANCE_ADDRESS:
        return row._replace(address=row.address + reader.number() * step)
    if opcode == _ADVANCE_LINE:
        return row._replace(line=row.line + reader.number(signed=True))
    if opcode == _SET_FILE:
        return row._replace(file=reader.number())
    if opcode == _ADD_CONSTANT:
        return row._replace(address=row.address + (255 - first_special) // line_range * step)
    if opcode == _ADD_FIXED:
        return row._replace(address=row.address + reader.take(_U16)[0])
    for _ in range(operands[opcode - 1]):
        reader.number()
    return row
