"""Makes of the package `profiler` what a person sees of it: errors in words of Python, and a help that lists all.

It imports nothing else of the package, so that `import profiler` is fast.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

_NAME_WIDTH = 13


@contextmanager
def advised() -> Iterator[None]:
    """Lets errors say what to do in terms of a function's arguments, not of a command's options."""
    try:
        yield
    except Exception as error:
        from profiler.errors import ProfError
        from profiler.python.did_you_mean import advise_call
        from profiler.python.words import advise

        if isinstance(error, ProfError):
            advise(error)
        elif isinstance(error, TypeError):
            package = sys.modules["profiler"]
            advise_call(error, {name: getattr(package, name) for name in package.__all__})
        raise


def listing(functions: Iterable[Callable[..., Any]]) -> str:
    """Returns a line for each function, with the first sentence of what it says of itself."""
    first = ((one.__name__, (one.__doc__ or "").partition("\n")[0]) for one in functions)
    return "\n".join(f"    {name:{_NAME_WIDTH}} {sentence}" for name, sentence in first)
