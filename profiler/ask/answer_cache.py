"""Keeps answers in the user's cache folder, so that no question need be answered twice.

An answer depends on what was recorded and on the code that reads it. Both are its key, whole: the hashes of the tables
that the manifests name, whatever else was asked, and a hash of the rooms of this program that answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar

import msgspec

from profiler.store.cache import hash_of_code, open_cache
from profiler.store.runs.manifest import Manifest
from profiler.store.tables.decoding import NOT_DECODED

Found = TypeVar("Found", bound=msgspec.Struct)

_LIMIT_BYTES = 32 << 20  # for each kind of answer
_HOME = Path(__file__).resolve().parent.parent
_ANSWERING = tuple(_HOME / name for name in ("analyse", "catalog", "store", "ask", "errors.py", "text.py"))


def answer_once(
    kind: type[Found], folder: str, asked: object, manifests: Iterable[Manifest], answer: Callable[[], Found]
) -> Found:
    """Returns the answer kept in this folder of the cache, or else calls `answer` and keeps what it returns.

    `asked` is what the question depends on besides the tables, as a value whose `repr` is all of it. Nothing is kept
    about recordings that were never stored, because their tables have no hashes.
    """
    tables = [sorted((name, table.sha256) for name, table in one.tables.items()) for one in manifests]
    if not all(of_one and all(sha256 for _, sha256 in of_one) for of_one in tables):
        return answer()
    key = repr((hash_of_code(*_ANSWERING), tables, asked))
    cache = open_cache(folder, _LIMIT_BYTES)
    if kept := cache.get(key):
        try:
            return msgspec.json.decode(kept, type=kind)
        except NOT_DECODED:  # whole, and yet none of ours
            pass
    made = answer()
    cache.put(key, msgspec.json.encode(made))
    return made
