"""The standard streams of `prof`, of which an error says what is wrong with the output.

In: the streams that Python opened, or found closed. Out: ones that write plain signs where the locale has no others.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from io import TextIOWrapper

from profiler.commands.shared.plain_signs import PLAIN_SIGNS


class Unwritable(OSError):
    """A standard stream takes no more text. The message says why."""


class _Stream(TextIOWrapper):
    """A standard stream whose own errors differ from those of files. A name that the locale cannot write is no error."""

    def __init__(self, number: int, given: TextIOWrapper | None) -> None:
        """`given` is Python's own stream; None when the caller closed it."""
        binary = given.buffer if given else open(number, "wb", closefd=False)  # noqa: SIM115 - open until the end
        encoding, by_line = (given.encoding, given.line_buffering) if given else ("utf-8", False)
        super().__init__(binary, encoding, PLAIN_SIGNS, line_buffering=by_line)
        self.has_text = False

    def write(self, text: str) -> int:
        self.has_text = True
        with self._explained():
            return super().write(text)

    def flush(self) -> None:
        with self._explained():
            super().flush()

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except (BrokenPipeError, Unwritable):
            raise
        except OSError as error:
            name = "output" if self.fileno() == 1 else "error"
            raise Unwritable(error.errno, f"standard {name} cannot be written: {error.strerror}") from None


def prepare_streams() -> None:
    """Opens the standard streams that the caller closed, so that no file of ours takes their numbers.

    Writing to standard output then fails, since somebody would miss it; standard error is discarded, and standard input
    is empty.
    """
    for number, mode in enumerate((os.O_RDONLY, os.O_RDONLY, os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:
            os.dup2(os.open(os.devnull, mode), number)
    if sys.stdin is None:
        sys.stdin = open(0, closefd=False)  # noqa: SIM115 - open until the end
    for number, name in ((1, "stdout"), (2, "stderr")):
        given = getattr(sys, name)
        if given is None or type(given) is TextIOWrapper:  # else a test has replaced it
            setattr(sys, name, _Stream(number, given))


def has_answered() -> bool:
    """Returns whether anything stands on standard output: a check that fails has printed its finding."""
    return sys.stdout.has_text if isinstance(sys.stdout, _Stream) else sys.stdout.tell() > 0


def discard_output() -> None:
    """Sends the rest of the output to the null device, so that Python exits without an error."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
