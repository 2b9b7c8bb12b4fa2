"""Says what to change in the words of the language that a kernel is written in.

A kernel's machine code says what is wrong, whatever wrote it. The change differs. Detectors advise in words of CUDA C++, and
where a cause has several remedies, in words of Triton too. Numba and Julia have the threads and the shared memory of CUDA C++ by
other names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from profiler.analyse.causes.detectors.candidate import Candidate
from profiler.analyse.causes.detectors.shared_memory.narrow_loads import OF_SHARED_MEMORY
from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.kept import kept
from profiler.analyse.causes.words_of_julia import IN_JULIA, JULIA_SAYS
from profiler.analyse.causes.words_of_numba import IN_NUMBA, NUMBA_SAYS
from profiler.analyse.causes.words_of_triton import IN_TRITON
from profiler.analyse.recording.languages import Language, language_of
from profiler.analyse.recording.profile import Profile
from profiler.store.tables.columns import rows_labelled

# What GPUs before compute capability 8.0 lack, and what is left of the advice: asynchronous copies, and sums of a warp by one instruction.
_SINCE = 8
_BEFORE = {
    (
        "Copy the next tile asynchronously (cp.async) into a second buffer in shared memory while this one is used. "
        "If registers hold the next tile instead, an SM"
    ): "Load the next tile into registers while this one is used. With that, an SM",
    "(`__reduce_add_sync`, shuffles)": "(`__shfl_down_sync`)",
}


def advise(evidence: Evidence, candidate: Candidate) -> str:
    """Returns what to change in the words of the kernel's language."""
    language = _language_of(evidence)
    if language == "Triton":
        return candidate.in_triton or IN_TRITON.get(candidate.name, candidate.advice)
    # What these say of narrow accesses is about arrays in global memory.
    name = "" if OF_SHARED_MEMORY in candidate.evidence else candidate.name
    if language == "Numba":
        return IN_NUMBA.get(name) or say_in(NUMBA_SAYS, candidate.advice)
    advice = on_gpu(candidate.advice, evidence.profile.compute_capability)
    if language == "Julia":
        return IN_JULIA.get(name) or say_in(JULIA_SAYS, advice)
    return advice


def say_in(words: Mapping[str, str], advice: str) -> str:
    """Returns advice on CUDA C++ in the words that another language has for its own."""
    for in_cuda, instead in words.items():
        advice = advice.replace(in_cuda, instead)
    return advice


def on_gpu(advice: str, capability: str | None) -> str:
    """Returns advice on CUDA C++ without what a GPU of this compute capability lacks."""
    if capability and int(capability.split(".")[0]) < _SINCE:
        for since, before in _BEFORE.items():
            advice = advice.replace(since, before)
    return advice


@kept
def _language_of(evidence: Evidence) -> Language:
    code = evidence.profile.code
    files = {one.file or "" for one in code.instructions} if code else set()
    return language_of(_names_of(evidence.profile), files)


def _names_of(profile: Profile) -> Sequence[str]:
    """Returns the names of the kernel: as the compiler mangled it, and as it is shown."""
    if profile.run is None:
        return [profile.kernel]
    launches = rows_labelled(
        profile.run.columns("launches", "kernel", "mangled"), "kernel", frozenset({profile.kernel})
    )
    return [profile.kernel, *(name or "" for name in launches.column("mangled").unique().to_pylist())]
