"""Decodes and encodes Thrift's compact protocol, in which Parquet writes its footer and the header of each page.

Fields that are not known are kept as they are.
"""

from __future__ import annotations

from typing import Any

# Types of the compact protocol. Its maps are left out: no footer has one.
_STOP, _TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, STRUCT = 0, 1, 2, 3, 7, 8, 12
_INTEGERS, _LISTS = (4, 5, 6), (9, 10)
I64, LIST = 6, 9
_MOST_SHIFT = 63
_LONG = 0x0F  # in a list's header: its length follows

# A struct: its fields by number, each with its type. A list is a pair: the elements' type, and the elements.
Struct = dict[int, tuple[int, Any]]


def decode_struct(data: bytes | memoryview) -> tuple[Struct, int]:
    """Decodes the struct that the data begins with, and returns the bytes that it takes too; ValueError when there is none."""
    try:
        return _struct(memoryview(data).cast("B"), 0)  # Arrow's bytes have a sign
    except IndexError as error:
        raise ValueError("it ends too early") from error
    except RecursionError as error:
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


# Whoever opens a table decodes dozens of headers. So there is one call for each value that is not a small number, and no copy of what
# follows: each function takes the place where it begins, and returns the value and where it ends.


def _struct(data: memoryview, at: int) -> tuple[Struct, int]:
    fields: Struct = {}
    number = 0
    while (header := data[at]) != _STOP:
        at += 1
        kind, step = header & 0x0F, header >> 4
        if step:
            number += step
        else:
            number, at = _value(data, at, I64)
        if kind in _INTEGERS and (byte := data[at]) < 0x80:
            fields[number] = (kind, byte >> 1 ^ -(byte & 1))
            at += 1
        elif kind in (_TRUE, _FALSE):  # a truth value is in its type
            fields[number] = (kind, None)
        else:
            value, at = _value(data, at, kind)
            fields[number] = (kind, value)
    return fields, at + 1


def _value(data: memoryview, at: int, kind: int) -> tuple[Any, int]:
    if kind in _INTEGERS:
        value, at = read_varint(data, at)
        return value >> 1 ^ -(value & 1), at
    if kind == _BINARY:
        size, at = read_varint(data, at)
        return _bytes(data, at, size)
    if kind == STRUCT:
        return _struct(data, at)
    if kind in _LISTS:
        size, element = data[at] >> 4, data[at] & 0x0F
        at += 1
        if size == _LONG:
            size, at = read_varint(data, at)
        items = []
        for _ in range(size):
            item, at = _value(data, at, element)
            items.append(item)
        return (element, items), at
    if kind in (_TRUE, _FALSE, _BYTE):  # in a list, a truth value is a byte
        return _bytes(data, at, 1)
    if kind == _DOUBLE:
        return _bytes(data, at, 8)
    raise ValueError(f"type {kind} is not one of a Parquet footer")


def _bytes(data: memoryview, at: int, size: int) -> tuple[bytes, int]:
    if at + size > len(data):
        raise IndexError
    return bytes(data[at : at + size]), at + size


def read_varint(data: bytes | memoryview, at: int) -> tuple[int, int]:
    """Returns the number that stands there, seven bits a byte, and where it ends; IndexError or ValueError if it does not.

    Protobuf and DWARF write numbers so, too.
    """
    value = shift = 0
    while (byte := data[at]) & 0x80:
        value |= (byte & 0x7F) << shift
        at += 1
        shift += 7
        if shift > _MOST_SHIFT:
            raise ValueError("a number of more than 64 bits")
    return value | byte << shift, at + 1


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
