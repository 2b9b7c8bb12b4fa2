"""Lists the causes that lie in what a kernel executes."""

from __future__ import annotations

from functools import partial

from profiler.catalog.causes.kind import CauseKind

_kind = partial(CauseKind, group="instructions")

INSTRUCTIONS: tuple[CauseKind, ...] = (
    _kind(
        name="unoptimised-code",
        what="The compiler did not optimise the code, as in a debug build.",
        detected=(
            "Moves of a register onto itself, which no optimiser leaves: over 2 % of the instructions. It is named alone, because other "
            "causes of such code say little about the same source with optimisation."
        ),
        example="nvcc -G, which is for debuggers.",
        remedy="Compile with optimisation: without -G, with -lineinfo for the source lines.",
    ),
    _kind(
        name="integer-overhead",
        what="Many instructions compute addresses, quotients and remainders instead of results.",
        detected=(
            "Share of executed integer instructions beyond what the memory accesses need, without those that mix bits, as a hash does; the "
            "sequences of a division; and the choice of a register by an index."
        ),
        example="i / width and i % width in the inner loop, with a width that the compiler does not know.",
        remedy="Divide once outside of the loop, use constants or powers of two, count up instead of recomputing.",
        leaves=("dram", "tensor", "fp64"),
    ),
    _kind(
        name="spelled-out-instructions",
        what=(
            "Many instructions do what one or a few do: they count the bits of a word, compare a number with one constant after another to "
            "choose a value, or multiply matrices element by element where tensor cores could."
        ),
        detected=(
            "The masks by which bits are summed in pairs, fours and bytes, or eight and more single bits of one word that are added up; "
            "eight and more comparisons of one number with constants, each of which selects another constant; or, in Triton, multiply-adds at the "
            "line of a `tl.dot` whose factors come from shared memory."
        ),
        example="count += x >> k & 1 for each k from 0 to 31; or value = x == 1 ? 0.5f : value for each x from 1 to 15.",
        remedy="Use the instruction: `__popc(x)`, or `__popcll(x)` for 64 bits. Look values up in a table, or compute them from the bits. Let tensor cores multiply matrices.",
        leaves=("dram", "tensor", "fp64"),
    ),
    _kind(
        name="redundant-instructions",
        what="The same computation is made again with the same inputs.",
        detected=(
            "Instructions whose inputs do not change in the loop that repeats them; what all threads of a block or of the grid, all rows of "
            "a block, or all blocks of the grid or along a dimension of it compute alike; unfused multiply-adds; or unused random numbers."
        ),
        example="sin(angle) of a constant angle for every element.",
        remedy="Compute it once, before the loop or on the host, and keep the result.",
        leaves=("dram", "tensor"),
    ),
    _kind(
        name="loop-overhead",
        what="Counting, comparing and branching take a large part of a loop.",
        detected=(
            "The part of the instructions of hot loops that only keep them going, from an eighth on: the branch back, its test, counters, and "
            "the next addresses; or turns in which a branch passes the body by, where nothing is left that could change that."
        ),
        example="A loop of one multiply-add with `#pragma unroll 1`.",
        remedy="Unroll the loop, so that one test and branch serve several elements.",
        leaves=("dram", "fma", "tensor", "fp64"),
    ),
    _kind(
        name="type-conversions",
        what="Values are converted between types again and again.",
        detected=(
            "Share of executed conversion instructions, which few units execute; or products of tensor cores, most of whose operands in shared "
            "memory are floats that were made of halves."
        ),
        example="An index converted to float and back for each element.",
        remedy="Convert once and keep the value in one type.",
        leaves=("dram", "tensor", "fp64"),
    ),
    _kind(
        name="fp64-arithmetic",
        what="Arithmetic runs in double precision.",
        detected="Executed FP64 instructions and conversions to and from double, and how busy they keep their unit.",
        example="x * 0.5 of a float x: the literal is a double, so the product is too.",
        remedy="Write float literals (0.5f) and use float functions, if single precision is enough.",
        leaves=("dram", "tensor"),
    ),
    _kind(
        name="special-functions",
        what="Divisions, roots, exponentials or trigonometric functions dominate.",
        detected="Executed instructions of the special-function unit, those of the source lines that need it, and loads that the slow paths of precise forms keep apart.",
        example="powf(x, 2.0f), or a precise division in the inner loop.",
        remedy="Use the fast forms (`__expf`, `__fdividef`, `rsqrtf`, multiplication instead of powf), or a table. Doubles have no fast forms: take fewer divisions and roots, or compute in float.",
        leaves=("dram", "tensor"),
    ),
    _kind(
        name="divergent-branches",
        what="Lanes of one warp take different branches, which are executed one after the other.",
        detected="Lanes that are off while an instruction executes, in code between branches that split warps, or because they left a loop before the others of their warp; or sides of a branch that do nearly the same, of which warps execute several.",
        example="if (threadIdx.x % 2) … else …",
        remedy="Let whole warps take the same branch: sort or regroup the work, or choose by warp.",
        leaves=("dram", "tensor"),
    ),
    _kind(
        name="idle-lanes",
        what="Lanes have nothing to do while their warp executes.",
        detected=(
            "Lanes that have ended, do not exist, or are kept from their warp's work by a predicate or a branch. "
            "Whole warps count too, if a test sends them away or they bring only zeros to a sum. "
            "So does work that adds nothing: arithmetic behind the end of a row, or the same turns of a loop, or the same result, in all threads of a block."
        ),
        example="if (tid < s) in a reduction: half of the threads only watch from the first step on.",
        remedy="Give every lane work: let each thread take more elements, and end idle warps early.",
        leaves=("dram", "tensor"),
    ),
)
