"""Advice in words of Triton, where a programmer neither indexes threads nor writes to shared memory, but chooses the sizes of
blocks, `num_warps` and `num_stages`."""

from __future__ import annotations

from profiler.analyse.causes.words.words import FastForms
from profiler.text import without_capital

_DO_MORE = "Let each program do more: several rows at once, {}, so that several loads are under way together, and offsets and parameters are prepared once."
# For blocks that are as long as a row, or longer.
MORE_ROWS = _DO_MORE.format("or a loop over blocks")
FOR_TENSOR_CORES = (
    'Let tensor cores multiply: `tl.dot` with an `input_precision` of "tf32" (10 bits of a fraction) or "tf32x3" (nearly those of a float) instead of '
    '"ieee" or `allow_tf32=False`, or with operands of 16 bits (halves as they were loaded, without `.to(tl.float32)`).'
)
# With how much larger it may be.
LARGER_TILE_IN_TRITON = (
    "Let a program compute a larger tile{} (its BLOCK sizes, which the launch chooses, with up to 8 `num_warps` to hold it; or several rows "
    "where it has one), so that each loaded value is multiplied more often."
)
# If a detector brings its own words for a way to find a cause, they come before these.
IN_TRITON = {
    "uncoalesced-loads": "Let elements that are neighbours in the block be neighbours in memory: let one dimension of the offsets have stride 1, "
    "and the block be long in it (32 bytes or more), or load a block of two dimensions (such as 32 x 32) and let Triton exchange them "
    "(`tl.trans`, or the order of the store's offsets).",
    "uncoalesced-stores": "Let elements that are neighbours in the block be neighbours in memory: let one dimension of the offsets have stride 1, "
    "and the block be long in it (32 bytes or more), or store a block of two dimensions (such as 32 x 32) that Triton exchanges (`tl.trans`).",
    "narrow-accesses": "Let each thread access 16 bytes: a block with at least that much for each of the 32 x `num_warps` threads (a larger "
    "BLOCK, or fewer warps), contiguous, with strides and sizes that are multiples of 16 elements, which Triton must know (arguments, or "
    "`tl.multiple_of`).",
    "misaligned-accesses": "Pad rows to a multiple of 16 elements: then they start at multiples of 32 bytes, and Triton loads 16 bytes a thread.",
    "redundant-global-stores": "Store once, after the loop, and keep the value in a variable until then.",
    "register-spills": "Give each thread fewer elements: a smaller BLOCK, or more `num_warps` for the same one (up to 8: with 16, a thread has 128 registers at most).",
    "atomic-contention": "Add up inside the program (`tl.sum`, `tl.max`, `tl.histogram`) and update memory once a program, or "
    "spread the updates (and locks) over more places.",
    "bank-conflicts": "Triton chooses where values lie in shared memory: try another shape of the block, or other `num_warps`, and exchange "
    "dimensions (`tl.trans`, order of the offsets) before the data is used rather than in between.",
    "too-little-reuse": LARGER_TILE_IN_TRITON.format(""),
    "redundant-shared-accesses": "Let values stay with their threads: `tl.trans`, `tl.reshape`, a reduction over another axis and operands of "
    "`tl.dot` may take them through shared memory to others. Do that once, before or after the loop.",
    "loop-overhead": "Unroll the loop: `tl.static_range`, `tl.range(…, loop_unroll_factor=4)`, or a larger BLOCK for each turn.",
    "spelled-out-instructions": "Let the instruction count the bits: `libdevice.popc`, or `libdevice.popcll` for 64 bits.",
    "type-conversions": "Convert once (`.to`), where a value is loaded or stored or in a kernel before this one, and keep it in one type in the loop.",
    "fp64-arithmetic": "Keep values in float32 (`.to(tl.float32)`), if single precision is enough: one operand in float64 makes the whole "
    "expression so.",
    "special-functions": "Use the fast forms (`tl.exp2`, `tl.rsqrt`, `libdevice.fast_expf`), multiply instead of dividing or calling "
    "`libdevice.pow`, or evaluate once for each row.",
    "divergent-branches": "Avoid functions that branch by their argument (`libdevice.tanh`, `libdevice.pow`: write them by `tl.exp`), and `if` and "
    "`while` whose condition differs between threads: choose with `tl.where`, or sort the work by what it needs.",
    "idle-lanes": "Give each thread an element: a block of at least 32 x `num_warps` elements (fewer warps for short rows, or several rows a "
    "program), few of which are masked off.",
    "dependent-chain": "Let each program work on several independent values, such as more rows or columns at once, so that their latencies overlap.",
    "register-bank-conflicts": "The compiler chooses the registers: try another shape of the block or other `num_warps`, and compare the "
    "machine code.",
    "instruction-cache-misses": "Make the code smaller: a smaller BLOCK, no `tl.static_range` over many turns, or more `num_warps` for the "
    "same block.",
    "constant-cache-misses": "Give each program more elements (a larger BLOCK), so that each constant that is fetched serves all of them.",
    "divergent-constants": "Load the table from global memory (`tl.load`), from which L1 serves at once all lanes that read the same 128 bytes.",
    "grid-too-small": "Launch more programs: a smaller BLOCK in a dimension that is not reduced (`tl.sum`, `tl.max`), or several programs that share "
    "one result, each with a part of what a loop counts (split-k with `tl.atomic_add` for sums, or a second kernel that combines the parts, as for a softmax).",
    "load-imbalance": "Share the work out evenly: let programs take tiles in turn, longest first, or from a counter (`tl.atomic_add`).",
    "too-little-work-a-thread": _DO_MORE.format("a loop over blocks, or a larger BLOCK (unless it holds a whole row)"),
    "block-too-small": "Let a program take more elements (a larger BLOCK), or several rows at once where it reduces each (a block of two dimensions, "
    "reduced along `axis=1`), with 4 to 8 `num_warps`.",
    "registers-limit-occupancy": "Give each thread fewer elements (a smaller BLOCK, or more `num_warps`), or limit registers (`maxnreg`).",
    "shared-memory-limits-occupancy": "Use fewer `num_stages`, a smaller BLOCK_K or a narrower type, or more `num_warps` for the same tile.",
    "at-fma-rate": f"Do less arithmetic or, in products of matrices, {without_capital(FOR_TENSOR_CORES)}",
    "block-size-limits-occupancy": "Choose `num_warps` so that programs fill the warps of an SM: 4, 8 or 16.",
}  # fmt: skip
FAST_IN_TRITON = FastForms(
    function=lambda name: f"`libdevice.fast_{name}f`", power="`libdevice.fast_powf`", division="`libdevice.fast_dividef`", reciprocal_root="`tl.rsqrt`",
    root="`tl.sqrt`", also_for_roots=", or `tl.sqrt` for a root alone", powers="`libdevice.pow`",
)  # fmt: skip
# For lanes that have nothing to do while warps add up: more elements would not change that.
LESS_EXCHANGE = (
    "Let values pass between warps (`tl.sum`, `tl.max`) less often: for several rows at once, or with fewer `num_warps`. One warp exchanges "
    "nothing with others."
)
