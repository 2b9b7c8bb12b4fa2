"""Decodes and encodes Thrift's compact protocol, in which Parquet writes its footer and the header of each page.

Fields that are not known are kept as they are.
"""

from __future__ import annotations

from io import BytesIO
from typing import Any

# Types of the compact protocol. Its maps are left out: no footer has one.
_STOP, _TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, STRUCT = 0, 1, 2, 3, 7, 8, 12
_INTEGERS, _LISTS = (4, 5, 6), (9, 10)
I64, LIST = 6, 9
_MOST_SHIFT = 63
_LONG = 0x0F  # in a list's header: its length follows

# A struct: its fields by number, each with its type. A list is a pair: the elements' type, and the elements.
Struct = dict[int, tuple[int, Any]]


def decode_struct(stream: BytesIO) -> Struct:
    """Decodes the struct at the stream's position; ValueError when there is none."""
    try:
        return _decode_struct(stream)
    except (EOFError, RecursionError) as error:
        raise ValueError(str(error)) from error


def encode_struct(fields: Struct) -> bytes:
    parts, before = [], 0
    for number, (kind, value) in sorted(fields.items()):
        step = number - before
        parts.append(bytes([step << 4 | kind]) if 0 < step <= _LONG else bytes([kind]) + _encode(I64, number))
        before = number
        if kind not in (_TRUE, _FALSE):
            parts.append(_encode(kind, value))
    return b"".join(parts) + bytes([_STOP])


def _decode_struct(stream: BytesIO) -> Struct:
    fields: Struct = {}
    number = 0
    while (header := _take(stream, 1)[0]) != _STOP:
        kind = header & 0x0F
        number = number + (header >> 4) if header >> 4 else _decode(stream, I64)
        # A truth value is in its type.
        fields[number] = (kind, None if kind in (_TRUE, _FALSE) else _decode(stream, kind))
    return fields


def _decode(stream: BytesIO, kind: int) -> Any:
    if kind in _INTEGERS:
        value = _varint(stream)
        return value >> 1 ^ -(value & 1)
    if kind == _BINARY:
        return _take(stream, _varint(stream))
    if kind == STRUCT:
        return _decode_struct(stream)
    if kind in _LISTS:
        header = _take(stream, 1)[0]
        size, element = header >> 4, header & 0x0F
        if size == _LONG:
            size = _varint(stream)
        return element, [_decode(stream, element) for _ in range(size)]
    if kind in (_TRUE, _FALSE, _BYTE):  # in a list, a truth value is a byte
        return _take(stream, 1)
    if kind == _DOUBLE:
        return _take(stream, 8)
    raise ValueError(f"type {kind} is not one of a Parquet footer")


def _take(stream: BytesIO, count: int) -> bytes:
    data = stream.read(count)
    if len(data) < count:
        raise EOFError("it ends too early")
    return data


def _varint(stream: BytesIO) -> int:
    value = shift = 0
    while (byte := _take(stream, 1)[0]) & 0x80:
        value |= (byte & 0x7F) << shift
        shift += 7
        if shift > _MOST_SHIFT:
            raise ValueError("a number of more than 64 bits")
    return value | byte << shift


def _encode(kind: int, value: Any) -> bytes:
    if kind in _INTEGERS:
        return _encode_varint(value << 1 ^ value >> 63)
    if kind == _BINARY:
        return _encode_varint(len(value)) + bytes(value)
    if kind == STRUCT and not isinstance(value, bytes):
        return encode_struct(value)
    if kind in _LISTS:
        element, items = value
        header = bytes([min(len(items), _LONG) << 4 | element])
        size = _encode_varint(len(items)) if len(items) >= _LONG else b""
        return header + size + b"".join(_encode(element, item) for item in items)
    return bytes(value)  # as it was read, or a struct that is encoded already


def _encode_varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)
