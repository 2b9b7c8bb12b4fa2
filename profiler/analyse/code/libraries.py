"""Finds the author's line for code of a library, which the author of a kernel does not change, and for code at a line that it cannot come from.

The instructions of a function come in with their source lines; out goes, for each, the one whose line stands for it. The line table of CUDA
C++ says which call of the author's the code of a library replaced: this is the line. Elsewhere, the values that it works on decide.
"""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Iterable, Mapping, Sequence, Set
from functools import lru_cache
from typing import NamedTuple

from profiler.analyse.code.opcodes import INSTRUCTION_BYTES
from profiler.analyse.code.registers import REGISTER, use_of
from profiler.store.tables.instruction_text import calls_in, inlined_text

# Headers of CUDA and of C++, of the system, and of packages of Python, such as the complex numbers of CuPy; the functions in Python
# that Triton, Numba and the compiler of PyTorch put into a kernel, such as `tl.sum`; and files of Julia: its own library, which is recorded
# without a folder (`int.jl`), its packages, and those that make kernels.
_LIBRARIES = re.compile(
    r"/cuda[^/]*/(?:[^/]+/)*include/|/nvidia/[^/]+/include/|/include/c\+\+/|^/usr/(?:local/)?include/|/(?:site|dist)-packages/(?:[^/]+/)*include/"
    r"|/triton/language/|/torch/_inductor/runtime/|/(?:site|dist)-packages/numba(?:_cuda)?/"
    r"|^(?:\./)?\w+\.jl$|/share/julia/|/\.julia/packages/|/(?:CUDA|LLVM|GPUCompiler|GPUArrays|KernelAbstractions)(?:\.jl)?/src/"
)
# The CuTe DSL gives some instructions of a kernel, such as atomics, the first line of the function that launches it.
_OF_LAUNCHER = re.compile(r"\s*@cute\.jit\b")
# The functions of Triton in Python by which warps exchange values, or which a line calls for each element. The compiler puts
# their instructions among those of the lines around.
_CALLS = re.compile(
    r"[\w)\]]\.(?:sum|max|min|argmax|argmin|xor_sum|reduce_or|cumsum|cumprod|sort|topk|softmax|sigmoid|randn?\w*)\("
)
# CUDA's header of atomics, and what calls it. Copies of an unrolled loop stand among code of other lines.
_OF_ATOMICS, _ATOMIC = re.compile(r"/\w*atomic_functions\.h"), re.compile(r"\batomic\w+\s*\(")
_CALLS_FUNCTION = re.compile(r"(?:@\S+ )?CALL\b")
_PYTHON = ".py"  # a line of C++ may call its own `sum`
_NEAR = 32  # instructions
# Moves from one register to another, and instructions that bring a parameter, a constant or the index of a thread. The compiler moves
# them away from the line that needs them, for example to the beginning of the function, and gives them the line that it finds there.
_MOVES = re.compile(r"U?MOV|R2UR|IMAD\.MOV|IMAD(\.U32)? \w+, RZ, RZ,")
_GIVEN = re.compile(r"U?LDC|S2U?R|CS2R")
# A statement that stores says where to: what it stores may have been computed long before.
_STORES = re.compile(r"STG?\b|RED|ATOMG?\b")
# A declaration that computes an index of the thread from nothing but built-in variables reads and writes no memory. Compilers give
# such a line to code that they make themselves, such as the loop of a `memcpy`.
_ONLY_INDEX = re.compile(
    r"[\w:\s]+=[-+*/%()\s\d]*\b(?:thread|block)(?:Idx|Dim)\.[xyz](?:[-+*/%()\s]|\b\d+\b|\b(?:thread|block|grid)(?:Idx|Dim)\.[xyz])*;\s*(?://.*)?"
)
_ACCESSES = re.compile(r"(?:@\S+ )?(?:LDG|STG|LDS|STS|LDL|STL|LD|ST|RED\w*|ATOM\w*)\b")
_ADDRESS = re.compile(r"\[([^\[\]]+)\](?=,|$)")  # behind the descriptor of memory as a whole


class Written(NamedTuple):
    """An instruction, and where in the source it comes from, as far as that is known."""

    text: str
    file: str | None
    source: str | None
    line: int | None = None
    executed: float | None = None  # null where it is not counted
    offset: int | None = None
    inlined_at: str | None = None  # the calls that it replaced, as `calls_in` reads them
    is_misplaced: bool = False  # its line cannot be where it comes from

    @property
    def is_library(self) -> bool:
        # Functions that the CuTe DSL evaluates have a line behind the kernel's.
        is_blank = self.source is not None and not self.source.strip()
        of_launcher = _is_of_launcher(self.source or "")
        return self.is_misplaced or of_launcher or is_blank or is_of_library(self.file or "")

    @property
    def is_authors(self) -> bool:
        return bool(self.executed != 0 and self.file and self.line) and not self.is_library


@lru_cache(maxsize=1024)
def is_of_library(file: str) -> bool:
    """Returns whether a source file, with its folder, belongs to a library."""
    return bool(_LIBRARIES.search(file.replace("\\", "/")))


@lru_cache(maxsize=1024)
def _is_of_launcher(source: str) -> bool:
    return _OF_LAUNCHER.match(source) is not None


def find_authors(code: Sequence[Written]) -> list[Written]:
    """Returns for each instruction of a function the one whose line stands for it: itself, if no library holds it.

    First comes the author's call, if the line table says which it was; then a line close by that calls a function of Triton, or an
    atomic where the code is CUDA's for atomics; then, for a call, the author's instruction that gives it the offset to return to; then
    the author's load or arithmetic whose result the code of the library works on; then the author's code before it. Without any of
    these, the line stays that of the library.
    """
    code = [_at_call(one) for one in code]
    if misplaced := {(one.file, one.line) for one in code if _is_misplaced(one)}:
        code = [one._replace(is_misplaced=(one.file, one.line) in misplaced) for one in code]
    of_library = [one.is_library for one in code]
    if not any(of_library):
        return code
    authors = [place for place, one in enumerate(code) if one.is_authors]
    own = set(authors)
    makers = _find_makers(code, own)
    before: int | None = None
    found = []
    for here, one in enumerate(code):
        if here in own:
            before = here
        if of_library[here]:
            choice = (_find_calling(code, here, authors), _find_caller(code, here), makers[here], before)
            found.append(code[next((place for place in choice if place is not None), here)])
        else:
            found.append(one)
    return found


def _at_call(one: Written) -> Written:
    """Returns code of a library with the line of the author's call that it replaced, if that is known."""
    if not (one.inlined_at and one.is_library):
        return one
    outwards = calls_in(one.inlined_at)
    for number, call in enumerate(outwards):
        if not is_of_library(call.file):
            beyond = inlined_text(outwards[number + 1 :])
            return one._replace(file=call.file, line=call.line, source=call.source, inlined_at=beyond)
    return one


def _is_misplaced(one: Written) -> bool:
    """Returns whether an access to memory stands at a line that accesses none."""
    return bool(one.source and _ACCESSES.match(one.text) and _ONLY_INDEX.fullmatch(one.source))


def _find_makers(code: Sequence[Written], own: Set[int]) -> list[int | None]:
    """Returns the author's last load or arithmetic from which the result of each instruction was made, by moves and code of libraries.

    The author's `own` are at these places. A store to global memory is made of its address, if that was computed.
    """
    makers: list[int | None] = []
    made: dict[str, int | None] = {}  # by register
    for here, one in enumerate(code):
        use = use_of(one.text)
        text = one.text.partition(" ")[2] if one.text.startswith("@") else one.text
        if _GIVEN.match(text):
            maker = None
        elif here in own and not _MOVES.match(text):
            maker = here
        else:
            address = _ADDRESS.search(text) if _STORES.match(text) else None
            maker = _last(made, REGISTER.findall(address[1])) if address else None
            maker = _last(made, use.inputs) if maker is None else maker
        makers.append(maker)
        made.update(dict.fromkeys(use.written, maker))
    return makers


def _last(made: Mapping[str, int | None], registers: Iterable[str]) -> int | None:
    return max((maker for name in registers if (maker := made.get(name)) is not None), default=None)


def _find_calling(code: Sequence[Written], here: int, authors: Sequence[int]) -> int | None:
    """Returns the nearest instruction close by of a line that calls such a function of Triton, or an atomic for the code of one.

    Close by are the next of the author's own `authors`: a sum of many elements is hundreds of instructions of the library.
    """
    at = bisect(authors, here)
    calls = _calls_atomic if _OF_ATOMICS.search(code[here].file or "") else _calls
    near = (place for place in authors[max(0, at - _NEAR) : at + _NEAR] if calls(code[place]))
    return min(near, key=lambda place: abs(place - here), default=None)


def _find_caller(code: Sequence[Written], here: int) -> int | None:
    """Returns the author's instruction that hands a call the offset behind it, to which the function returns."""
    one = code[here]
    if one.offset is None or not _CALLS_FUNCTION.match(one.text):
        return None
    behind = f", {one.offset + INSTRUCTION_BYTES:#x}"
    near = range(here - 1, max(0, here - _NEAR) - 1, -1)
    return next(
        (place for place in near if code[place].is_authors and code[place].text.endswith(behind)), None
    )


def _calls_atomic(one: Written) -> bool:
    return bool(_ATOMIC.search(one.source or ""))


def _calls(one: Written) -> bool:
    return (one.file or "").endswith(_PYTHON) and _is_call(one.source or "")


@lru_cache(maxsize=4096)
def _is_call(line: str) -> bool:
    return bool(_CALLS.search(line))
