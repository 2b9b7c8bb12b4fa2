"""Says what keeps what takes long to make, so that this room need not know where."""

from __future__ import annotations

from typing import Protocol


class PictureCache(Protocol):
    """Keeps pictures and their like under a key, as bytes."""

    def get(self, key: str) -> bytes | None: ...

    def put(self, key: str, data: bytes) -> None: ...
