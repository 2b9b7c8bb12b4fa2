"""Declares the cache that this room is given for pictures. Only the caller knows where it keeps them."""

from __future__ import annotations

from typing import Protocol


class PictureCache(Protocol):
    """Keeps what takes long to draw or to bundle, as bytes, under a key."""

    def get(self, key: str) -> bytes | None: ...

    def put(self, key: str, data: bytes) -> None: ...
