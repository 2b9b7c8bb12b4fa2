"""Says to whoever interrupts a measurement how to continue it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def continuable(results: str) -> Iterator[None]:
    """Prints, when Ctrl-C ends the block, that the results so far are kept."""
    try:
        yield
    except KeyboardInterrupt:
        print(f"the {results} so far are kept: the same command continues from there", file=sys.stderr)
        raise
