"""Prepares types so that several threads may decode them from JSON, even for the first time in a process.

Every struct that prof decodes from JSON has the decorator; a test checks this.
"""

from __future__ import annotations

from typing import TypeVar

import msgspec

# Raised for JSON that is not the value expected; RecursionError for one that is nested too deeply.
NOT_DECODED = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
_Kind = TypeVar("_Kind", bound=type[msgspec.Struct])


def decodable(kind: _Kind) -> _Kind:
    """Class decorator. msgspec inspects a type when it first decodes it, and crashes when two threads do so
    at once (as of 0.22). So this inspects the type now, while a single thread imports the module.
    """
    msgspec.json.Decoder(kind)
    return kind
