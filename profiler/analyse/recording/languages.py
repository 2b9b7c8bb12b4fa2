"""Says in which language a kernel is written, by what its compiler leaves in the kernel's name and lines.

A name that an author chose says nothing. CuPy, and everything else that compiles CUDA C++, counts as CUDA C++.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Literal

Language = Literal["CUDA C++", "Triton", "Numba", "Julia", "CuTe DSL"]

_PYTHON, _JULIA = ".py", ".jl"
_OF_CUTE = "kernel_cutlass_"
_MANGLED = "_Z"  # C++ mangles the names of kernels, and Triton leaves them as they are
# Numba passes arrays of a type whose name holds how they lie in memory: mangled, or as C++ would write it. `mutable` is a keyword of
# C++, so that no type of a kernel in C++ is called so.
_ARRAY_OF_NUMBA = re.compile(
    r"5ArrayI\S*?1[ACF](?:7mutable|8readonly)(?:7aligned|9unaligned)E|Array<.+?, [ACF], (?:mutable|readonly), (?:un)?aligned>"
)
# CUDA.jl passes arrays of a type that has their dimensions and their memory as numbers.
_ARRAY_OF_JULIA = re.compile(
    r"13CuDeviceArrayI\S+?Li\d+ELi\d+EE|\bCuDeviceArray<.+?, \(int\)\d+, \(int\)\d+>"
)


def language_of(names: Collection[str], files: Collection[str] = ()) -> Language:
    """Returns the language of a kernel by its `names`, as the compiler mangled it and as it is shown, and the `files` of its lines."""
    if any(map(_ARRAY_OF_NUMBA.search, names)):
        return "Numba"
    if any(file.endswith(_JULIA) for file in files) or any(map(_ARRAY_OF_JULIA.search, names)):
        return "Julia"
    if any(name.startswith(_OF_CUTE) for name in names):
        return "CuTe DSL"
    is_python = any(file.endswith(_PYTHON) for file in files)
    return "Triton" if is_python and not any(name.startswith(_MANGLED) for name in names) else "CUDA C++"
