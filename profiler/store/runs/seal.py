"""Seals JSON files: the last member of the object is the SHA-256 of everything before it.

The hash covers the text without its white space, so that a pack may hold a manifest on one line.
"""

from __future__ import annotations

import hashlib
import re

import msgspec

_SEAL = re.compile(rb',"checksum":"(?P<sha256>[0-9a-f]{64})"\}')


def sealed(data: bytes) -> bytes:
    """Returns the JSON object on one line with a new seal, in place of the one that it may have."""
    body = _parted(data)[0]
    return body[:-1] + b',"checksum":"%s"}' % _hash(body)


def has_seal(data: bytes) -> bool:
    """Returns whether a JSON object has a seal that fits it."""
    body, stated = _parted(data)
    return stated == _hash(body)


def _parted(data: bytes) -> tuple[bytes, bytes | None]:
    """Returns the object without its seal on one line, and the hash in the seal."""
    text = msgspec.json.format(data, indent=-1)
    start = text.rfind(b',"checksum":"')
    match = _SEAL.fullmatch(text, start) if start >= 0 else None
    return (text[:start] + b"}", match["sha256"]) if match else (text, None)


def _hash(body: bytes) -> bytes:
    return hashlib.sha256(body).hexdigest().encode()
