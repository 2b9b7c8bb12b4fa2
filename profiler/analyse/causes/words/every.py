"""Finds the words of a language, without those for what a GPU lacks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from profiler.analyse.causes.words.cuda import CUDA
from profiler.analyse.causes.words.cute import CUTE
from profiler.analyse.causes.words.julia import JULIA
from profiler.analyse.causes.words.numba import NUMBA
from profiler.analyse.causes.words.words import Words
from profiler.analyse.recording.languages import Language

# Triton has sentences of its own, and shares with CUDA C++ those that are of no language.
_OF_OTHERS: Mapping[Language, Words] = {"Numba": NUMBA, "Julia": JULIA, "CuTe DSL": CUTE}
_AMPERE = 8


def words_for(language: Language, capability: str | None) -> Words:
    """Returns the words of a language on a GPU of this compute capability.

    GPUs before 8.0 lack asynchronous copies, which Numba does without, and sums of a warp by one instruction.
    """
    words = _OF_OTHERS.get(language, CUDA)
    if language == "Numba" or capability is None or int(capability.split(".")[0]) >= _AMPERE:
        return words
    next_tile = "Load the next tile into registers while this one is used. With that, an SM"
    return replace(words, warp_sum=words.shuffle_down, next_tile=next_tile, widen_first="")
