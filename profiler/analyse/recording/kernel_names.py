"""Shortens the names of kernels, which C++ makes thousands of characters long, to what a person reads."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable

from profiler.text import common_start, cut, report_name

# The hash with which Numba distinguishes versions of a function, and the types of template arguments.
_TAGS = re.compile(r"\[abi:[^\]]*\]")
# The CuTe DSL writes what it compiled the function for after its name; the first tensor tells where that begins.
_OF_CUTE = re.compile(r"kernel_cutlass_(\w+?)(?:_object_at_)?_tensor(?:ptr|\d)\w*")
_OF_NO_USE = re.compile(rf"\((?:int|bool|unsigned int|long|unsigned long|char|short)\)|{_TAGS.pattern}")

# How one compiler and another write a namespace without a name.
_UNNAMED = r"\(anonymous namespace\)|<unnamed>"
BY_ORDER = ("the first", "the second")  # what sides of one name are called
_SAYS_NOTHING = re.compile(r"(?i)kernel_?\d*")
# Words of a name, or a single letter before a version's number, as in `k5`, but not before the bits of a type, as in `f32`; those of
# `_GENERAL` and `_OF_MACHINE` say nothing of what is computed.
_NAMED = re.compile(r"[a-z]{2,}|[a-z](?=\d)(?!(?<=[fiu])(?:8|16|32|64)(?!\d))")
_NUMBERED = re.compile(r"^[a-z](?=\d)")  # `f8` alone is a version, as `f7` is
_GENERAL = {
    "kernel", "kernels", "profile", "report", "ncu", "rep", "test", "bench",
    "cuda", "triton", "cupy", "numba", "torch", "pytorch", "jax", "cute",  # how it was written
    "gpu", "device", "host",  # where it runs
    "float", "double", "half", "int", "uint", "fp", "bf", "tf",  # types
    "and", "by", "for", "from", "in", "is", "of", "on", "the", "to", "with",
}  # fmt: skip
# Of the machine, whatever it computes.
_OF_MACHINE = {
    "grid", "cluster", "block", "blocks", "blk", "cta", "warp", "warps", "thread", "threads", "lane", "lanes", "sm",
    "memory", "mem", "shared", "shmem", "smem", "shm", "global", "gmem", "local", "lmem", "constant", "const", "cmem", "texture", "tex",
    "cache", "cached", "register", "registers", "reg", "regs",
}  # fmt: skip
_WIDTH = 60
_BEFORE_DIFFERENCE = 20  # characters shown of what two long names have in common
# Characters for the argument in which two names differ, however long the function's own name is.
_LEAST_ROOM = 16
_MOST_WORDS = 8  # of a name, in a pattern that chooses it


def base_name(kernel: str) -> str:
    """Returns the function's own name: without its return type, namespaces, template arguments and parameters."""
    if of_cute := _OF_CUTE.fullmatch(kernel):
        return of_cute[1]
    text = re.sub(_UNNAMED, "", plain_name(kernel))
    return re.split(r"[<(]", text, maxsplit=1)[0].rpartition("::")[2].split(" ")[-1] or kernel


def called_name(kernel: str) -> str:
    """Returns the function's own name; for one that is just called "kernel", also as much of its template as fits."""
    base = base_name(kernel)
    return cut(_unscoped(plain_name(kernel)) if _SAYS_NOTHING.fullmatch(base) else base, _WIDTH)


def short_name(kernel: str) -> str:
    """Returns the plain name if it is short, or else the function's own name."""
    plain = plain_name(kernel)
    return plain if len(plain) <= _WIDTH else called_name(kernel)


def short_names(kernel: str, other: str) -> tuple[str, str]:
    """Returns the short names of two kernels; if they would be the same, with the first template argument that differs."""
    one, two = short_name(kernel), short_name(other)
    if one != two or plain_name(kernel) == plain_name(other):
        return one, two
    left, right = _unscoped(plain_name(kernel)), _unscoped(plain_name(other))
    alike = common_start(left, right)
    base = base_name(kernel)
    room = max(_LEAST_ROOM, _WIDTH - len(base) - len("<…"))
    start = _start_before(left, alike, room // 2)
    first, second = (f"{base}<…{cut(text[start:], room)}" for text in (left, right))
    return first, second


def _start_before(name: str, difference: int, most: int) -> int:
    """Returns where to begin to show a name, at most so many characters before what differs: at an argument, a word, or there."""
    argument = name.rfind(" ", 0, max(0, difference - _BEFORE_DIFFERENCE)) + 1
    word = len(re.sub(r"\w+$", "", name[:difference]))
    return next((place for place in (argument, word) if difference - place <= most), difference)


def _unscoped(name: str) -> str:
    return re.sub(rf"(?:\w+|{_UNNAMED})::", "", name)


def words_of(name: str) -> set[str]:
    """Returns the words in a name that may say what is computed: {"transpose", "naive"} for `transposeNaive_kernel`.

    A name without any is known by its words of the machine, {"warp"} for `warp1`, or by the letter with which it begins.
    """
    apart = re.sub(r"(?<=[a-z\d])(?=[A-Z])", "_", name).lower()
    named = {*_NAMED.findall(apart)} - _GENERAL
    return named - _OF_MACHINE or named or {*_NUMBERED.findall(apart)}


def without_tags(kernel: str) -> str:
    """Returns a kernel's whole name without Numba's hash, which is longer than the rest and says nothing to a reader."""
    return _TAGS.sub("", kernel)


def plain_name(kernel: str) -> str:
    """Returns a kernel's name without its return type, its parameters and the types of its template arguments."""
    text = _OF_NO_USE.sub("", kernel.removeprefix("void "))
    depth = 0
    for place, character in enumerate(text):
        depth += (character == "<") - (character == ">")
        if character == "(" and depth == 0 and not text.startswith("(anonymous namespace)", place):
            return text[:place] or kernel
    return text


def pattern_of(kernel: str, kernels: Iterable[str]) -> str:
    """Returns the shortest pattern that chooses this one of the kernels: its function's name, else words that only it holds.

    A library has one name for many kernels, which differ deep in their templates.
    """
    others = [name for name in kernels if name != kernel]
    for own_name in (base_name, plain_name):
        name = own_name(kernel)
        if len(name) <= _WIDTH and all(own_name(other) != name for other in others):
            return name
    words = list(re.finditer(r"\w+", kernel))
    elsewhere = "\n".join(others).casefold()
    for count in range(1, min(_MOST_WORDS, len(words)) + 1):
        for first, last in zip(words, words[count - 1 :], strict=False):
            part = kernel[first.start() : last.end()]
            if part.casefold() not in elsewhere:
                return re.escape(part)
    return kernel


def choice_of(kernel: str, kernels: Iterable[str]) -> str:
    """Returns the option of a command, quoted for a shell, that chooses this one of the kernels."""
    return f"-k {shlex.quote(pattern_of(kernel, kernels))}"


def names_of_sides(labels: tuple[str, str], kernels: tuple[str, str] = ("", "")) -> tuple[str, str]:
    """Returns a name for each side: the file's without its folders, or the kernels' if both are of one recording.

    Sides of one name are called by their order.
    """
    one, other = map(report_name, labels)
    if one != other:
        return one, other
    first, second = map(base_name, kernels)
    if labels[0] != labels[1]:
        return labels
    return (first, second) if first != second else BY_ORDER
