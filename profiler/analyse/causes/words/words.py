"""Declares what languages say in different ways, so that none lacks a word.

What is plain English has a default, which a language replaces if it has a word of its own or if the change is another one. An
optional part of a sentence is empty by default, for languages that lack what it names.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

# The words of every language on doubles contain this condition.
SINGLE_IS_ENOUGH = "single precision is enough"


@dataclass(frozen=True)
class FastForms:
    """The fast forms of functions of single precision. `also` and `also_for_roots` stand behind the names of some of them."""

    function: Callable[[str], str]  # such as "exp"
    power: str
    division: str
    reciprocal_root: str
    root: str  # what takes a root alone fast
    also_for_roots: str  # the same
    also: str = ""  # what makes all functions fast
    sine_and_cosine: str = ""  # a function that returns both
    powers: str = "powers"  # what is better written as a product


@dataclass(frozen=True)
class Words:
    """The words of one language."""

    # Threads and blocks
    thread: tuple[str, str, str]  # the index of a thread in its block, along x, y and z
    block: str
    block_in_x: str
    threads_in_x: str  # of a block
    thread_of_grid: str
    neighbours_in_x: str  # what makes neighbouring threads access neighbouring elements
    # What the lanes of a warp do together
    warp_sum: str
    shuffle: str
    shuffle_down: str
    shuffle_xor: str
    sync_warp: str
    # Memory
    wide_access: Callable[[str], str]  # a sentence, for so many elements
    at_once: Callable[[int], str]  # for up to so many bytes
    next_tile: str  # how to load it ahead, with the beginning of a sentence on what that costs an SM
    fence_of_block: str
    # The compiler
    optimised: str
    known_number: str  # to the compiler
    unroll: str  # a sentence
    unroll_less: str
    choose_each: str  # how each element of an array takes a value or none
    limit_registers: str
    limit_registers_anyhow: str  # every way to do so
    # Instructions
    by_wgmma: str
    fuse: str  # a sentence on products and additions
    count_bits: str
    fast: FastForms
    # Numbers
    rounding_number: str  # 1.5 * 2^23
    without_doubles: str
    # Plain English
    grid_stride_loop: str = "a grid-stride loop"
    warp_for_row: str = " (such as a warp for each row, instead of a thread)"
    pass_a_tile: str = "pass a tile through shared memory"
    count_up: str = "Compute addresses once and count them up, use 32-bit indices, and unroll so that offsets become constants"
    count_up_narrow: str = "Compute addresses once and count them up, and unroll so that offsets become constants"  # where indices have 32 bits
    narrow_indices: str = "use 32-bit indices"
    divide: str = "divide"
    # Instead of `without_doubles`, where values become doubles on the way, and where no instruction is recorded
    find_doubles: str = ""
    find_named_doubles: str = ""  # where it is known what is double as it is written
    look_for_doubles: str = ""
    # Optional parts
    widen_first: str = (
        ""  # a sentence before `next_tile` where accesses are narrower than an asynchronous copy can be
    )
    constant_indices: str = ""  # of arrays, where no loop is unrolled by hand
    relaxed: str = ""  # atomics without fences
    four_numbers: str = ""  # random ones that are drawn at once
    read_only: str = ""  # arrays to which nobody stores
    keep_loaded: str = ""  # what lets the compiler keep a value in a register, or why it cannot
    constant_memory: str = ""
