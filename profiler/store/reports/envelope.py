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
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime

from profiler.errors import NotAReport, ReportDamaged, ReportEmpty

MAGIC = b"NVR\x00"
_POINTER = b"version https://git-lfs"  # what Git checks out in place of a large file that it did not fetch

# BlockHeader fields: how many results of each kind its payload holds.
_RESULT_COUNTS = {2: "kernels", 7: "ranges", 8: "command lists", 9: "graphs"}
_SOURCES, _SESSION, _PAYLOAD_SIZE, _PROCESS = 1, 3, 5, 6
# SessionDetails fields.
_CREATED, _DEVICE, _SOFTWARE, _COMMAND_LINE = 2, 6, 8, 11
_ONCE = {_CREATED, 3, 4, 5, _COMMAND_LINE}  # also the host, the target and an empty message
_NCU, _CUDA, _WINDOW = "Nsight Compute Target", "CUDA Version", "Nsight Compute Host"
_COMMAND_LINE_SINCE = "2022"
# The fields of a result that say which process launched it, and its number among the calls of that process.
_RESULT_PROCESS, _RESULT_LAUNCH = 1, 2
_NUMBERED = {2, 7, 9}  # results with these fields: kernels, ranges and graphs

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


@dataclass
class _Walk:
    """The facts that were read from the blocks so far."""

    results: int = 0
    pending_sources: int = 0
    created: int | None = None
    program: str = ""  # of the first process
    process_ids: set[int] = field(default_factory=set)
    software: dict[str, str] = field(default_factory=dict)
    command_line: str = ""
    devices: list[str] = field(default_factory=list)
    format_version: int = 0
    stated: set[int] = field(default_factory=set)  # of _ONCE
    last_launches: dict[int, int] = field(default_factory=dict)  # by process


def read_envelope(data: bytes | memoryview, name: str) -> Envelope:
    """Walks the whole file; raises an error for anything that is not a complete report.

    `name` is only used in messages. A cut exactly between two results leaves a shorter
    but complete report, which no reader can tell from a recording of fewer launches;
    only the hash taken when a report is stored can.
    """
    view = memoryview(data)
    _check_magic(view, name)
    walk = _Walk()
    try:
        position = _read_file_header(view, walk)
        while position < len(view):
            position = _read_block(view, position, walk)
    except _Malformed as flaw:
        raise ReportDamaged(f"{name}: damaged or cut short: {flaw}") from None
    _check_complete(walk, name)
    return Envelope(
        results=walk.results,
        created=None if walk.created is None else datetime.fromtimestamp(walk.created, UTC),
        program=walk.program,
        ncu_version=walk.software.get(_NCU, "").split(" ")[0],
        cuda_version=walk.software.get(_CUDA, ""),
        command_line=walk.command_line.strip(),
        devices=tuple(walk.devices),
        processes=len(walk.process_ids),
    )


class _Malformed(Exception):
    pass


def _check_magic(view: memoryview, name: str) -> None:
    if len(view) == 0:
        raise NotAReport(f"{name}: the file is empty")
    start = bytes(view[:4])
    if start == MAGIC:
        return
    if MAGIC.startswith(start):
        raise ReportDamaged(f"{name}: damaged or cut short: only {len(view)} bytes are left")
    if not any(view[:4096]):
        raise ReportDamaged(f"{name}: it starts with zero bytes, as after a failed copy")
    if bytes(view[: len(_POINTER)]) == _POINTER:
        raise NotAReport(
            f"{name}: this is a pointer of Git LFS, not the report itself",
            remedy="Run `git lfs pull` in the repository that it comes from.",
        )
    raise NotAReport(f"{name}: not an Nsight Compute report (it does not start with 'NVR')")


def _read_file_header(view: memoryview, walk: _Walk) -> int:
    header, position = _sized(view, 4, "the file header")
    for number, value in _fields(header):
        if number == 1 and isinstance(value, int):
            walk.format_version = value
    return position


def _read_block(view: memoryview, position: int, walk: _Walk) -> int:
    start = position
    header, position = _sized(view, position, f"the header of the block at byte {start:,}")
    if not header:
        raise _Malformed(f"the block at byte {start:,} is blank")
    payload_size = results = sources = numbered = 0
    has_session = False
    for number, value in _fields(header):
        if number == _PAYLOAD_SIZE and isinstance(value, int):
            payload_size = value
        elif number in _RESULT_COUNTS and isinstance(value, int):
            results += value
            numbered += value if number in _NUMBERED else 0
        elif number == _SOURCES and isinstance(value, int):
            sources += value
        elif number == _SESSION and isinstance(value, memoryview):
            has_session = True
            _read_session(value, walk)
        elif number == _PROCESS and isinstance(value, memoryview):
            _read_process(value, walk)
    end = position + payload_size
    if end > len(view):
        missing = end - len(view)
        raise _Malformed(f"the block at byte {start:,} lacks its last {missing:,} bytes")
    entries = list(_entries(view[position:end], start))
    if len(entries) != sources + results:
        raise _Malformed(
            f"the block at byte {start:,} announces {sources + results} entries and holds {len(entries)}"
        )
    if numbered == results:
        for entry in entries[sources:]:
            _check_order(entry, walk)
    walk.pending_sources += sources
    walk.results += results
    # `ncu -i` leaves an empty block in place of a result that its filters drop.
    if results or not (sources or has_session):
        walk.pending_sources = 0
    return end


def _entries(payload: memoryview, start: int) -> Iterator[memoryview]:
    """Yields the length-prefixed messages of a payload, which they must fill exactly."""
    position = 0
    while position < len(payload):
        entry, position = _sized(payload, position, f"an entry of the block at byte {start:,}")
        yield entry


def _check_order(result: memoryview, walk: _Walk) -> None:
    """Raises _Malformed unless the launch comes after the one before it in the same process."""
    process = launch = None
    for number, value in _fields(result):
        if isinstance(value, int) and number == _RESULT_PROCESS:
            process = value
        elif isinstance(value, int) and number == _RESULT_LAUNCH:
            launch = value
        if number >= _RESULT_LAUNCH:
            break
    if process is None or launch is None:
        raise _Malformed("a result lacks its process or its number")
    if launch <= walk.last_launches.get(process, -1):
        raise _Malformed(
            f"launch {launch} of process {process} comes after launch {walk.last_launches[process]}"
        )
    walk.last_launches[process] = launch


def _check_complete(walk: _Walk, name: str) -> None:
    """Raises unless the report ends where it should: format 7 writes the session's details, command line last,
    after a result.

    Versions before 2022 write no command line, nor does the window of Nsight Compute, and the first ones not even
    their own version.
    """
    if walk.pending_sources:
        raise ReportDamaged(f"{name}: damaged or cut short: it ends with code that has no result")
    if walk.results == 0:
        raise ReportEmpty(f"{name}: the report holds no launches")
    if walk.format_version < 7:
        return
    software = walk.software
    has_command_line = software.get(_NCU, "") >= _COMMAND_LINE_SINCE and _WINDOW not in software
    if not (walk.devices and software) or (has_command_line and not walk.command_line):
        raise ReportDamaged(f"{name}: damaged or cut short: it ends before its session details")
    for what in (_CUDA, _NCU) if walk.command_line else (_CUDA,):
        if not software.get(what):
            raise ReportDamaged(f"{name}: damaged: it does not say its {what}")


def _read_session(message: memoryview, walk: _Walk) -> None:
    for number, value in _fields(message):
        if number in _ONCE:
            if number in walk.stated:
                raise _Malformed("its session's details are there twice")
            walk.stated.add(number)
        if number == _CREATED and isinstance(value, int):
            walk.created = _timestamp(value)
        elif not isinstance(value, memoryview):
            continue
        elif number == _DEVICE:
            walk.devices += [text for which, text in _texts(value) if which == 2]
        elif number == _SOFTWARE:
            pair = dict(_texts(value))
            if pair.get(1, "") in walk.software:
                raise _Malformed("its session's versions are there twice")
            walk.software[pair.get(1, "")] = pair.get(2, "")
        elif number == _COMMAND_LINE:
            walk.command_line = _text(value)


def _read_process(message: memoryview, walk: _Walk) -> None:
    for number, value in _fields(message):
        if number == 1 and isinstance(value, int):
            walk.process_ids.add(value)
        elif number == 3 and isinstance(value, memoryview):
            walk.program = walk.program or _text(value)


def _timestamp(seconds: int) -> int:
    if not 0 < seconds < 2**33:  # until the year 2242; anything else is a flipped bit
        raise _Malformed("its creation time is impossible")
    return seconds


def _sized(view: memoryview, position: int, what: str) -> tuple[memoryview, int]:
    """Returns the length-prefixed bytes at `position`, and where they end."""
    start = position + 4
    if start > len(view):
        raise _Malformed(f"it ends inside {what}")
    (length,) = _U32.unpack_from(view, position)
    if start + length > len(view):
        raise _Malformed(f"it ends inside {what}")
    return view[start : start + length], start + length


def _fields(message: memoryview) -> Iterator[tuple[int, int | memoryview | None]]:
    """Yields the fields of a protobuf message by number: an integer, bytes, or None for a number of fixed size."""
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
    value = 0
    for shift in range(0, 70, 7):
        if position >= len(message):
            break
        byte = message[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
    raise _Malformed("a number in a block header never ends")


def _texts(message: memoryview) -> Iterator[tuple[int, str]]:
    return ((number, _text(value)) for number, value in _fields(message) if isinstance(value, memoryview))


def _text(value: memoryview) -> str:
    return bytes(value).decode("utf-8", "replace")
