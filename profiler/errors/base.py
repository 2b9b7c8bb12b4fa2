"""What every failure is."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar


class ProfError(Exception):
    """What happened, in one line; `details` are further lines; `remedy` says what to do about it.

    Lines are kept apart rather than joined, so that a name with a newline in it cannot
    pass for a line of ours.
    """

    exit_code: ClassVar[int] = 3
    remedy: str = ""

    def __init__(self, message: str, *, details: Iterable[str] = (), remedy: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.details = tuple(details)
        if remedy is not None:
            self.remedy = remedy

    def __str__(self) -> str:
        return "\n".join([self.message, *self.details])

    def __reduce__(self) -> tuple[object, ...]:
        # Errors cross process boundaries; the default would lose the keyword arguments.
        return (_rebuild, (type(self), self.message, self.details, self.remedy))


def _rebuild(cls: type[ProfError], message: str, details: tuple[str, ...], remedy: str) -> ProfError:
    return cls(message, details=details, remedy=remedy)
