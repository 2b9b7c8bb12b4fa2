"""Says the names of C++ functions as their source spells them."""

from __future__ import annotations

import ctypes
from contextlib import suppress


def demangled(name: str) -> str:
    """Returns the name as its source spells it, or the name itself if it is not that of a C++ function."""
    if not name.startswith("_Z"):
        return name
    with suppress(OSError):
        library = ctypes.CDLL("libstdc++.so.6")
        library.__cxa_demangle.restype = ctypes.c_void_p
        text = library.__cxa_demangle(name.encode(), None, None, None)
        if text:
            found = ctypes.string_at(text).decode(errors="replace")
            ctypes.CDLL(None).free(ctypes.c_void_p(text))
            return found
    return name
