"""Types that several threads may decode, also the first time that a process does.

What is read from JSON into a struct is declared with the decorator; a test holds the package to it.
"""

from __future__ import annotations

from typing import TypeVar

import msgspec

_Kind = TypeVar("_Kind", bound=type[msgspec.Struct])


def decodable(kind: _Kind) -> _Kind:
    """A class decorator. msgspec looks into a type when it first decodes one, and two threads that are first at once crash it
    (as of 0.22): so it looks now, while a single thread imports."""
    msgspec.json.Decoder(kind)
    return kind
