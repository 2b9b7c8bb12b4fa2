"""Says what to change in the words of the language that a kernel is written in.

A kernel's machine code says what is wrong, whatever wrote it. The change differs. Detectors advise in words of CUDA C++, and
where a cause has several remedies, in words of Triton too. Numba, Julia and the CuTe DSL have other names for the threads and the
shared memory of CUDA C++.
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
from profiler.store.tables.columns import labels_of, rows_labelled

# Advice that GPUs before compute capability 8.0 cannot follow, and what is left of it: they lack asynchronous copies, and sums of a warp by
# one instruction.
_SINCE = 8
_BEFORE = {
    (
        "Copy the next tile asynchronously (cp.async) into a second buffer in shared memory while this one is used. "
        "If registers hold the next tile instead, an SM"
    ): "Load the next tile into registers while this one is used. With that, an SM",
    "(`__reduce_add_sync`, shuffles)": "(`__shfl_down_sync`)",
}
# The words of CUDA C++ in advice, and what the CuTe DSL has instead: fast forms by the name of the function, vectors as parts of a divided layout, and no
# constant memory.
CUTE_SAYS = {
    **{
        f"at once (up to {size} bytes, a vector type)": f"at once (up to {size} bytes: divide the layout, and `load()` and `store()` whole parts of it)"
        for size in (2, 4, 8, 16)
    },
    "Let `threadIdx.x` count": "Let `cute.arch.thread_idx()[0]` count",
    " (`cuda::memory_order_relaxed`)": "",
    " (`curand_uniform4`)": "",
    "(`__reduce_add_sync`, shuffles)": "(`cute.arch.warp_reduction_sum`)",
    "(`__shfl_down_sync`)": "(`cute.arch.shuffle_sync_down`)",
    "(`__shfl_sync`, `__syncwarp`)": "(`cute.arch.shuffle_sync`, `cute.arch.sync_warp`)",
    "(`__shfl_sync`)": "(`cute.arch.shuffle_sync`)",
    "(`__syncwarp`, two": "(`cute.arch.sync_warp`, two",
    "`__shfl_xor_sync`": "`cute.arch.shuffle_sync_bfly`",
    "`__threadfence_block()`": "`cute.arch.fence_acq_rel_cta()`",
    "; declare pointers `const … * __restrict__`, so that the compiler may": "",
    " (`const … * __restrict__`)": "",
    " Constant memory (`__constant__`, up to 64 KB) serves what all threads look up at one address at a time, such as the weights of a filter.": "",
    "`__popc(x)`, or `__popcll(x)` for 64 bits (`std::popcount` in C++20)": "`cute.arch.popc(x)`",
    "(`__launch_bounds__`, `--maxrregcount`)": "(`min_blocks_per_mp` of `launch`)",
    "(`__launch_bounds__`, a smaller tile": "(`min_blocks_per_mp` of `launch`, a smaller tile",
    "without -G (-lineinfo keeps the source lines), and without -O0 for ptxas": "without options for debugging",
    "Take roots with fewer digits (`sqrtf` with `-use_fast_math`)": "Take roots with fewer digits (`cute.math.sqrt(x, fastmath=True)`)",
    ", or `-use_fast_math`, also for roots alone": ", or `cute.math.sqrt(x, fastmath=True)` for a root alone",
    ", or `-use_fast_math`": "",
    "`__expf`": "`cute.math.exp(x, fastmath=True)`",
    "`__logf`": "`cute.math.log(x, fastmath=True)`",
    "`__log2f`": "`cute.math.log2(x, fastmath=True)`",
    "`__sinf`": "`cute.math.sin(x, fastmath=True)`",
    "`__cosf`": "`cute.math.cos(x, fastmath=True)`",
    "`__tanf`": "`cute.math.tan(x, fastmath=True)`",
    "`__powf`": "`cute.math.exp2(y * cute.math.log2(x))`",
    "`__fdividef`": "`x * cute.arch.rcp_approx(y)`",
    "`rsqrtf`": "`cute.math.rsqrt(x, fastmath=True)`",
    "of powf": "of powers",
    "data, literals (0.5f) and functions (sqrtf, expf)": "data and literals (`Float32(0.5)`)",
    "literals (write 0.5f), powers with an integer exponent (C++ computes `pow(x, n)` in double: write `powf`), or a type, such as a template argument or a "
    "typedef": "a value or a tensor of `Float64`",
    "`gridDim.x * blockDim.x`": "`cute.arch.grid_dim()[0] * cute.arch.block_dim()[0]`",
    "`blockIdx.x * blockDim.x + threadIdx.x`": "`cute.arch.block_idx()[0] * cute.arch.block_dim()[0] + cute.arch.thread_idx()[0]`",
    **{f"`threadIdx.{axis}`": f"`cute.arch.thread_idx()[{place}]`" for place, axis in enumerate("xyz")},
    "`blockDim.x`": "`cute.arch.block_dim()[0]`",
    "`blockIdx.x`": "`cute.arch.block_idx()[0]`",
    "`blockIdx`": "`cute.arch.block_idx()`",
    "`for each m: a[m] += index == m ? x : 0`": "`for each m: a[m] += x if index == m else 0`",
    "by `wgmma` instead of `mma.sync` and `mma_sync`": "by `cute.nvgpu.warpgroup` instead of `cute.nvgpu.warp`",
    "12582912.0f": "`Float32(12582912)`",
    "(`#pragma unroll`)": "(`cutlass.range(…, unroll=4)`)",
    "(`#pragma unroll 4`)": "(`cutlass.range` instead of `cutlass.range_constexpr`)",
    "(a template parameter, or a constant)": "(`cutlass.Constexpr`)",
    "(`-fmad=true`, no `__fmul_rn` or `__dmul_rn`), or write `fma(a, b, c)`": "(write both in one expression)",
    "asynchronously (cp.async)": "asynchronously (`cute.nvgpu.cpasync`)",
}  # fmt: skip


def advise(evidence: Evidence, candidate: Candidate) -> str:
    """Returns what to change in the words of the kernel's language."""
    language = _language_of(evidence)
    if language == "Triton":
        return candidate.in_triton or IN_TRITON.get(candidate.name, candidate.advice)
    # What the tables below say of narrow accesses is about arrays in global memory.
    name = "" if OF_SHARED_MEMORY in candidate.evidence else candidate.name
    if language == "Numba":
        return IN_NUMBA.get(name) or say_in(NUMBA_SAYS, candidate.advice)
    advice = on_gpu(candidate.advice, evidence.profile.compute_capability)
    if language == "Julia":
        return IN_JULIA.get(name) or say_in(JULIA_SAYS, advice)
    return say_in(CUTE_SAYS, advice) if language == "CuTe DSL" else advice


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
    return [profile.kernel, *{name or "" for name in labels_of(launches, "mangled")}]
