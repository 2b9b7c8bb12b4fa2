"""Reads the outer structure of a `.ncu-rep`, without NVIDIA's library.

In: the bytes of a report. Out: the session that made it, and the number of results that it announces.
NVIDIA's reader silently accepts empty, random and truncated files. So this module first walks every block to the end of
the file, and refuses a file whose blocks do not add up. Nsight Compute documents the layout (a magic number, then
blocks of a protobuf header and a payload) in its `extras/FileFormat` folder. Only field numbers are used here, and
unknown fields are skipped, so newer reports still read. Facts of the session that a report states twice, and launches
out of order, show damage too.

    "NVR\\0"  u32 length, FileHeader  { u32 length, BlockHeader, payload }...
"""

from __future__ import annotations

import struct
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import islice
from typing import NamedTuple

from profiler.errors import NotAReport, ReportDamaged, ReportEmpty
from profiler.store.tables.thrift import read_varint

MAGIC = b"NVR\x00"
BEGINNING_BYTES = 4096
_POINTER = b"version https://git-lfs"  # what Git checks out in place of a large file that it did not fetch

# BlockHeader fields: how many results its payload holds that have a number, which are kernels, ranges and graphs; and how
# many command lists.
_NUMBERED, _COMMAND_LISTS = (2, 7, 9), 8
_SOURCES, _SESSION, _PAYLOAD_SIZE, _PROCESS = 1, 3, 5, 6
# SessionDetails fields.
_CREATED, _DEVICE, _SOFTWARE, _COMMAND_LINE = 2, 6, 8, 11
_ONCE = {_CREATED, 3, 4, 5, _COMMAND_LINE}  # also the host, the target and an empty message
_NCU, _CUDA, _WINDOW = "Nsight Compute Target", "CUDA Version", "Nsight Compute Host"
_COMMAND_LINE_SINCE = "2022.2"
# The fields of a result that say which process launched it, and its number among the calls of that process.
_RESULT_PROCESS, _RESULT_LAUNCH = 1, 2
# The fields of what a block says of machine code.
_ELF, _FUNCTIONS = 4, 9

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_U32 = struct.Struct("<I")


@dataclass(frozen=True)
class Envelope:
    """The facts that a report states about itself, known before any result is decoded."""

    results: int = 0
    created: datetime | None = None
    program: str = ""
    ncu_version: str = ""
    cuda_version: str = ""
    command_line: str = ""
    devices: tuple[str, ...] = ()
    processes: int = 0


_Value = int | memoryview | None  # of a field: an integer, bytes, or None for a number of fixed size


class _Message(defaultdict[int, list[_Value]]):
    """The values of a protobuf message by field."""

    def __init__(self, *parts: memoryview) -> None:
        super().__init__(list)
        for data in parts:
            self.add(data)

    def add(self, data: memoryview) -> None:
        for number, value in _fields(data):
            self[number].append(value)

    def numbers(self, field: int) -> list[int]:
        return [value for value in self[field] if isinstance(value, int)]

    def inner(self, field: int) -> list[memoryview]:
        return [value for value in self[field] if isinstance(value, memoryview)]

    def texts(self, field: int) -> list[str]:
        """Returns the texts without the zero that ends some of them on Windows."""
        return [bytes(value).decode("utf-8", "replace").rstrip("\0") for value in self.inner(field)]


@dataclass
class _Walk:
    """The contents of the blocks of a report that have been read so far."""

    results: int = 0
    pending_sources: int = 0
    session: _Message = field(default_factory=_Message)
    processes: list[_Message] = field(default_factory=list)
    last_launches: dict[int, int] = field(default_factory=dict)  # by process


def read_envelope(data: bytes | memoryview, name: str) -> Envelope:
    """Walks the whole file; raises an error for anything that is not a complete report.

    `name` is only used in messages. A cut exactly between two results, or among the session's
    details where those of the first versions end, leaves a shorter but complete report, which no
    reader can tell from a recording of fewer launches; only the hash taken when a report is stored can.
    """
    view = memoryview(data)
    check_magic(view, name)
    walk = _Walk()
    try:
        header, beginning = _sized(view, len(MAGIC), "the file header")
        for block in _blocks(view, beginning):
            _read_block(block, walk)
        software = _software(walk.session)
        envelope = _envelope(walk, software)
        format_version = sum(_Message(header).numbers(1)[-1:])
    except _Malformed as flaw:
        raise ReportDamaged(f"{name}: damaged or cut short: {flaw}") from None
    if walk.pending_sources:
        raise ReportDamaged(f"{name}: damaged or cut short: it ends with code that has no result")
    if walk.results == 0:
        raise ReportEmpty(f"{name}: the report holds no launches")
    if format_version >= 7:
        _check_session(envelope, software, name)
    return envelope


class LoadedCode(NamedTuple):
    """Machine code as the driver loaded it: an ELF file, and the names of its functions by the addresses at which they start."""

    elf: memoryview
    functions: dict[int, str]


def code_in(data: bytes | memoryview) -> Iterator[LoadedCode]:
    """Yields the code that a report holds, once its envelope has been read."""
    view = memoryview(data)
    for block in _blocks(view, _sized(view, len(MAGIC), "the file header")[1]):
        for entry in islice(block.entries(), block.sources):
            with suppress(_Malformed):  # another version may keep it elsewhere
                yield from _code_of(_Message(entry))


def _code_of(source: _Message) -> list[LoadedCode]:
    functions = [
        _Message(one) for all_of_them in source.inner(_FUNCTIONS) for one in _Message(all_of_them).inner(1)
    ]
    names = {address: "".join(one.texts(1)) for one in functions for address in one.numbers(2)}
    return [LoadedCode(elf, names) for elf in source.inner(_ELF)]


class _Malformed(Exception):
    pass


def check_magic(view: memoryview | bytes, name: str) -> None:
    """Raises unless a file begins as a report does; its first `BEGINNING_BYTES` are enough."""
    if len(view) == 0:
        raise NotAReport(f"{name}: the file is empty")
    start = bytes(view[:4])
    if start == MAGIC:
        return
    if MAGIC.startswith(start):
        raise ReportDamaged(f"{name}: damaged or cut short: only {len(view)} bytes are left")
    if not any(view[:BEGINNING_BYTES]):
        raise ReportDamaged(f"{name}: it starts with zero bytes, as after a failed copy")
    if bytes(view[: len(_POINTER)]) == _POINTER:
        raise NotAReport(
            f"{name}: this is a pointer of Git LFS, not the report itself",
            remedy="Run `git lfs pull` in the repository that it comes from.",
        )
    raise NotAReport(f"{name}: not an Nsight Compute report (it does not start with 'NVR')")


@dataclass(frozen=True)
class _Block:
    """One block of a report; `place` names it in messages."""

    place: str
    header: _Message
    payload: memoryview

    @property
    def sources(self) -> int:
        """Returns how many of the entries, the first ones, hold machine code."""
        return sum(self.header.numbers(_SOURCES))

    def entries(self) -> Iterator[memoryview]:
        """Yields the length-prefixed messages of the payload, which they must fill exactly."""
        position = 0
        while position < len(self.payload):
            entry, position = _sized(self.payload, position, f"an entry of {self.place}")
            yield entry


def _blocks(view: memoryview, position: int) -> Iterator[_Block]:
    while position < len(view):
        place = f"the block at byte {position:,}"
        data, position = _sized(view, position, f"the header of {place}")
        if not data:
            raise _Malformed(f"{place} is blank")
        header = _Message(data)
        end = position + sum(header.numbers(_PAYLOAD_SIZE)[-1:])
        if end > len(view):
            raise _Malformed(f"{place} lacks its last {end - len(view):,} bytes")
        yield _Block(place, header, view[position:end])
        position = end


def _read_block(block: _Block, walk: _Walk) -> None:
    header, sources = block.header, block.sources
    numbered = sum(sum(header.numbers(kind)) for kind in _NUMBERED)
    results = numbered + sum(header.numbers(_COMMAND_LISTS))
    sessions = header.inner(_SESSION)
    for session in sessions:
        walk.session.add(session)
    walk.processes += map(_Message, header.inner(_PROCESS))
    entries = list(block.entries())
    if len(entries) != sources + results:
        raise _Malformed(f"{block.place} announces {sources + results} entries and holds {len(entries)}")
    if numbered == results:
        for entry in entries[sources:]:
            _check_order(entry, walk)
    walk.pending_sources += sources
    walk.results += results
    # `ncu -i` leaves an empty block in place of a result that its filters drop.
    if results or not (sources or sessions):
        walk.pending_sources = 0


def _check_order(result: memoryview, walk: _Walk) -> None:
    """Raises _Malformed unless the launch comes after the one before it in the same process."""
    first: dict[int, _Value] = {}
    for number, value in _fields(result):
        first[number] = value
        if number >= _RESULT_LAUNCH:
            break
    process, launch = first.get(_RESULT_PROCESS), first.get(_RESULT_LAUNCH)
    if not isinstance(process, int) or not isinstance(launch, int):
        raise _Malformed("a result lacks its process or its number")
    if launch <= walk.last_launches.get(process, -1):
        raise _Malformed(
            f"launch {launch} of process {process} comes after launch {walk.last_launches[process]}"
        )
    walk.last_launches[process] = launch


def _envelope(walk: _Walk, software: dict[str, str]) -> Envelope:
    session, processes = walk.session, walk.processes
    if any(len(session[number]) > 1 for number in _ONCE):
        raise _Malformed("its session's details are there twice")
    created = session.numbers(_CREATED)
    # Until the year 2242; anything else is a flipped bit.
    if not all(0 < seconds < 2**33 for seconds in created):
        raise _Malformed("its creation time is impossible")
    programs = (text for process in processes for text in process.texts(3))
    return Envelope(
        results=walk.results,
        created=datetime.fromtimestamp(created[0], UTC) if created else None,
        program=next(filter(None, programs), ""),
        ncu_version=software.get(_NCU, "").split(" ")[0],
        cuda_version=software.get(_CUDA, ""),
        command_line="".join(session.texts(_COMMAND_LINE)).strip(),
        devices=tuple(text for device in session.inner(_DEVICE) for text in _Message(device).texts(2)),
        processes=len({number for process in processes for number in process.numbers(1)}),
    )


def _software(session: _Message) -> dict[str, str]:
    """Returns the versions of the software that the session names."""
    pairs = [_Message(pair) for pair in session.inner(_SOFTWARE)]
    versions = {"".join(pair.texts(1)): "".join(pair.texts(2)) for pair in pairs}
    if len(versions) < len(pairs):
        raise _Malformed("its session's versions are there twice")
    return versions


def _check_session(envelope: Envelope, software: dict[str, str], name: str) -> None:
    """Raises unless the report ends where it should: format 7 writes the session's details, command line last,
    after a result.

    Versions before 2022.2 write no command line, nor does the window of Nsight Compute, and the first ones not even
    their own version.
    """
    has_command_line = software.get(_NCU, "") >= _COMMAND_LINE_SINCE and _WINDOW not in software
    if not (envelope.devices and software) or (has_command_line and not envelope.command_line):
        raise ReportDamaged(f"{name}: damaged or cut short: it ends before its session details")
    for what in (_CUDA, _NCU) if envelope.command_line else (_CUDA,):
        if not software.get(what):
            raise ReportDamaged(f"{name}: damaged: it does not say its {what}")


def _sized(view: memoryview, position: int, what: str) -> tuple[memoryview, int]:
    """Returns the length-prefixed bytes at `position`, and where they end."""
    start = position + 4
    if start > len(view):
        raise _Malformed(f"it ends inside {what}")
    (length,) = _U32.unpack_from(view, position)
    if start + length > len(view):
        raise _Malformed(f"it ends inside {what}")
    return view[start : start + length], start + length


def _fields(message: memoryview) -> Iterator[tuple[int, _Value]]:
    """Yields the fields of a protobuf message by number."""
    position = 0
    while position < len(message):
        key, position = _varint(message, position)
        wire = key & 7
        if wire == _VARINT:
            value, position = _varint(message, position)
            yield key >> 3, value
            continue
        if wire == _BYTES:
            length, position = _varint(message, position)
        elif wire == _FIXED64:
            length = 8
        elif wire == _FIXED32:
            length = 4
        else:
            raise _Malformed("a block header holds an impossible field")
        end = position + length
        if end > len(message):
            raise _Malformed("a field of a block header reaches past its end")
        yield key >> 3, message[position:end] if wire == _BYTES else None
        position = end


def _varint(message: memoryview, position: int) -> tuple[int, int]:
    try:
        return read_varint(message, position)
    except (IndexError, ValueError):
        raise _Malformed("a number in a block header never ends") from None
