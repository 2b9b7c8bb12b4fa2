"""Shortens the names of kernels, which C++ makes thousands of characters long, to what a person reads."""

from __future__ import annotations

import re

# The types of template arguments, and the hash with which Numba tells versions of a function apart.
_OF_NO_USE = re.compile(r"\((?:int|bool|unsigned int|long|unsigned long|char|short)\)|\[abi:[^\]]*\]")


def base_name(kernel: str) -> str:
    """Returns the function's own name: without its return type, namespaces, template arguments and parameters."""
    text = plain_name(kernel).replace("(anonymous namespace)", "")
    return re.split(r"[<(]", text, maxsplit=1)[0].rpartition("::")[2].split(" ")[-1] or kernel


def plain_name(kernel: str) -> str:
    """Returns a kernel's name without its return type, its parameters and the types of its template arguments."""
    text = _OF_NO_USE.sub("", kernel.removeprefix("void "))
    depth = 0
    for place, character in enumerate(text):
        depth += (character == "<") - (character == ">")
        if character == "(" and depth == 0 and not text.startswith("(anonymous namespace)", place):
            return text[:place] or kernel
    return text
