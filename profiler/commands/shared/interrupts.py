"""Ends a measurement that somebody interrupts: programs are ended, and the user reads how to continue."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

_TERMINATED = 143


def exit_on_sigterm() -> None:
    """Lets SIGTERM end the process as an exception does, so that what was opened is closed."""
    signal.signal(signal.SIGTERM, _exit)


@contextmanager
def continuable(results: str) -> Iterator[None]:
    """Prints, when Ctrl-C ends the block, that the results so far are kept."""
    try:
        yield
    except KeyboardInterrupt:
        print(f"the {results} so far are kept: the same command continues from there", file=sys.stderr)
        raise


def _exit(*_: object) -> NoReturn:
    raise SystemExit(_TERMINATED)
