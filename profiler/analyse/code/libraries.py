"""Tells the files of libraries, which the author of a kernel does not change, from the author's own."""

from __future__ import annotations

import re
from functools import lru_cache

# Headers of CUDA and of C++; the functions in Python that Triton and the compiler of PyTorch put into a kernel, such as `tl.sum`; and those
# of Julia, whose own library has no folder in what it records (`int.jl`), of its packages, and of those that make kernels.
_LIBRARIES = re.compile(
    r"/cuda[^/]*/(?:[^/]+/)*include/|/nvidia/[^/]+/include/|/include/c\+\+/|/triton/language/|/torch/_inductor/runtime/"
    r"|^(?:\./)?\w+\.jl$|/share/julia/|/\.julia/packages/|/(?:CUDA|LLVM|GPUCompiler|GPUArrays|KernelAbstractions)(?:\.jl)?/src/"
)


@lru_cache(maxsize=1024)
def is_of_library(file: str) -> bool:
    """Returns whether a source file, with its folder, belongs to a library."""
    return bool(_LIBRARIES.search(file.replace("\\", "/")))
