"""Describes one kernel's hot loop in figures: what an iteration executes, what it loads, what feeds its FMAs.

A `Profile` in, a `LoopSheet` out. Counts are per iteration of the loop and warp, FMAs and
bytes per iteration and thread. Where a kernel has no loop, or all of it was asked for,
an iteration is one pass through the whole function.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Literal

from msgspec import Struct, structs

from profiler.analyse.code.called_functions import CalledFunction, find_called_as_hot
from profiler.analyse.code.code import Code, Instruction, executed_in
from profiler.analyse.code.loops import (
    find_loops_as_hot,
    loops_in,
)
from profiler.analyse.code.opcodes import (
    WORD_BITS,
    fmas_of,
    is_matrix,
    overhead_kind,
    tensor_product,
    width_bits,
)
from profiler.analyse.code.product import Operand, Product
from profiler.analyse.code.regions import Region, Scope, find_region
from profiler.analyse.findings import LoopInstruction
from profiler.analyse.importance import Importance
from profiler.analyse.recording.profile import Profile

_SHARED_LOADS = ("LDS", "LDSM")
_MOST_PLACES = 3
PlaceWeight = tuple[int, float]
_LARGEST_GAP_PCT = 1.0  # between the counts of the instructions and those by opcode


class OpcodeCount(Struct, frozen=True):
    """`count` per iteration; `places` are `file:line`, those with the most samples first, or else the most executions."""

    opcode: str
    count: float
    width_bits: int | None
    places: Annotated[list[str], Importance(92, each=8)]
    samples_pct: float | None


class PlacedOpcode(OpcodeCount, frozen=True):
    """The same, with the weight of each place: its samples and its executions."""

    weights: dict[str, PlaceWeight] = {}


class OperandLoads(Struct, frozen=True):
    """The loads of one factor of the FMAs. It is named A or B where the stored result shows which."""

    name: Literal["A", "B", ""]
    loads: Annotated[list[LoopInstruction], Importance(98, each=2)]
    places: Annotated[list[str], Importance(92, each=8)]


class SharedLoads(Struct, frozen=True):
    """Loads from shared memory, per iteration and thread; `words` are of 32 bits, null where a load's width is unknown."""

    loads: float
    words: float | None
    bytes_per_load: float | None
    fmas_per_load: float
    fmas_per_word: float | None


class MatrixInstructions(Struct, frozen=True):
    """The number of matrix instructions (`mmas`) of an iteration. All other instructions take `others_issue_pct` of the issue slots.

    `operations_per_mma` are the multiplications and additions of one warp, of which four share the work of a `wgmma`. It is null
    where an opcode does not name its shape.
    """

    mmas: float
    instructions_per_mma: float
    operations_per_mma: float | None
    others_issue_pct: float


class Overhead(Struct, frozen=True):
    """Instructions beside the loads and the arithmetic, of one kind such as `moves`; `count` is per iteration."""

    kind: str
    count: float
    opcodes: Annotated[dict[str, float], Importance(90, each=2)]


class LoopAsHot(Struct, frozen=True):
    """Another loop with at least half of the hot loop's work; `executed_pct` is its part of all that was executed, without loops inside."""

    place: str | None
    start: int
    end: int
    executed_pct: float


class CauseElsewhere(Struct, frozen=True):
    """The first cause of a diagnosis, and where most of it is: outside of the code that is shown."""

    cause: str
    opcode: str
    offset: int
    place: str | None


class LoopSheet(Struct, frozen=True):
    """`iterations` counts those of all warps of a launch. Each of `accumulators` takes one FMA a step.

    A function that `is_called` ran more often than the launch has warps: it was not inlined, and `iterations` are its calls. If
    it `is_tensor`, tensor cores do most of the FMAs, for all threads of a warp or of four together. Without matrix instructions,
    `matrix` is null. A figure that only counts show is null where nothing was counted, and so is the number of `loops`. FMAs are
    divided into `steps` only for a product whose operands were found. `first_cause` is the first one of the diagnosis, if none of
    its instructions is in the loop.
    """

    label: str
    kernel_name: str
    gpu: str
    run_id: str | None
    report: str | None
    scope: Scope
    place: str | None
    start: int
    end: int
    iterations: float | None
    iterations_per_warp: float | None
    executed_pct: float | None
    instructions: float
    fmas: float
    instructions_per_fma: float | None
    fma_issue_pct: float
    accumulators: int | None
    steps: int | None
    shared: SharedLoads | None
    operands: list[OperandLoads]
    opcodes: Annotated[list[OpcodeCount], Importance(97, each=0.6)]
    cautions: Annotated[list[str], Importance(99, each=1)]
    opcodes_left_out: int = 0
    overhead: Annotated[list[Overhead], Importance(98, each=1)] = []
    is_tensor: bool = False
    is_called: bool = False
    matrix: MatrixInstructions | None = None
    loops: int | None = None
    as_hot: Annotated[list[LoopAsHot], Importance(93, each=2)] = []
    called: Annotated[list[CalledFunction], Importance(93, each=2)] = []
    first_cause: CauseElsewhere | None = None


def derive_loop_sheet(profile: Profile, code: Code, *, whole: bool = False) -> LoopSheet:
    """Returns the figures of what `find_region` finds in the code."""
    region = find_region(code, whole=whole)
    body, product = region.body, region.product
    is_counted = not code.by_structure
    may_have_others = region.scope == "loop" and is_counted
    instructions, fmas = sum(map(region.per_pass, body)), region.total(fmas_of)
    of_tensor = region.total(lambda one: fmas_of(one) if is_matrix(one.opcode) else 0)
    multiplying = region.total(lambda one: fmas_of(one) > 0)
    per_warp = region.passes / region.warps if region.warps else 0.0
    opcodes = count_opcodes(body, region)
    return LoopSheet(
        label=profile.label,
        kernel_name=profile.kernel,
        gpu=profile.gpu,
        run_id=profile.manifest.run_id if profile.stored else None,
        report=None if profile.stored else profile.label,
        scope=region.scope,
        place=region.place,
        start=body[0].offset,
        end=body[-1].offset,
        iterations=region.passes if is_counted else None,
        iterations_per_warp=per_warp if is_counted else None,
        executed_pct=100 * executed_in(body) / code.executed if is_counted else None,
        instructions=instructions,
        fmas=fmas,
        instructions_per_fma=instructions / fmas if fmas else None,
        fma_issue_pct=100 * multiplying / instructions if instructions else 0.0,
        accumulators=product.accumulators if product else None,
        steps=product.steps if product and product.operands else None,
        shared=_shared_loads(region, fmas),
        operands=_operand_loads(region, product) if product else [],
        opcodes=opcodes,
        cautions=_cautions(code, region.scope, profile.opcodes),
        overhead=_group_overhead(opcodes),
        is_tensor=of_tensor > fmas / 2,
        is_called=_is_called(profile, code, region),
        matrix=_matrix_instructions(region, instructions),
        loops=sum(map(len, loops_in(code).values())) if is_counted else None,
        as_hot=_loops_as_hot(code, body) if may_have_others else [],
        called=find_called_as_hot(code, body) if may_have_others else [],
    )


def _loops_as_hot(code: Code, hot: Sequence[Instruction]) -> list[LoopAsHot]:
    return [
        LoopAsHot(one.body[-1].place, one.start, one.end, 100 * one.own_work / code.executed)
        for one in find_loops_as_hot(code, hot)
    ]


def _is_called(profile: Profile, code: Code, region: Region) -> bool:
    if region.scope == "loop" or code.by_structure or not profile.shapes:
        return False
    return region.passes > max(shape.warps for shape in profile.shapes)


def opcode_as_shown(instruction: Instruction) -> str:
    """Returns the opcode, with `@!PT` if it is counted as executed but never does anything."""
    return f"@!PT {instruction.opcode}" if instruction.never_acts else instruction.opcode


def count_opcodes(instructions: Iterable[Instruction], region: Region) -> list[OpcodeCount]:
    """Counts opcodes in order of first appearance, without what was never executed."""
    groups = _by_opcode(instructions)
    samples = sum(one.samples or 0 for one in region.body if one.executed)  # not those of ended warps
    return [
        OpcodeCount(
            opcode=opcode,
            count=sum(map(region.per_pass, members)),
            width_bits=width_bits(members[0].opcode),
            places=_places_of(members),
            samples_pct=100 * sum(one.samples or 0 for one in members) / samples if samples else None,
        )
        for opcode, members in groups.items()
    ]


def count_at_places(instructions: Sequence[Instruction], region: Region) -> list[PlacedOpcode]:
    """Returns the same counts, with what each place has of them."""
    groups = _by_opcode(instructions)
    counts = count_opcodes(instructions, region)
    return [PlacedOpcode(**structs.asdict(one), weights=_weights(groups[one.opcode])) for one in counts]


def _by_opcode(instructions: Iterable[Instruction]) -> dict[str, list[Instruction]]:
    groups: dict[str, list[Instruction]] = {}
    for instruction in instructions:
        if instruction.executed:
            groups.setdefault(opcode_as_shown(instruction), []).append(instruction)
    return groups


def _group_overhead(counts: Iterable[OpcodeCount]) -> list[Overhead]:
    """Returns the kinds of overhead, the most instructions first."""
    kinds: dict[str, dict[str, float]] = {}
    for one in counts:
        if kind := overhead_kind(one.opcode):
            kinds.setdefault(kind, {})[one.opcode] = one.count
    found = [Overhead(kind, sum(members.values()), members) for kind, members in kinds.items()]
    return sorted(found, key=lambda one: -one.count)


def _places_of(instructions: Iterable[Instruction]) -> list[str]:
    return heaviest(_weights(instructions))[:_MOST_PLACES]


def heaviest(weights: Mapping[str, PlaceWeight]) -> list[str]:
    """Returns the places, those with the most samples first, then those with the most executions."""
    return sorted(weights, key=weights.__getitem__, reverse=True)


def _weights(instructions: Iterable[Instruction]) -> dict[str, PlaceWeight]:
    weights: dict[str, PlaceWeight] = {}
    for one in instructions:
        if one.place is not None:
            samples, executed = weights.get(one.place, (0, 0.0))
            weights[one.place] = (samples + (one.samples or 0), executed + (one.executed or 0.0))
    return weights


def _matrix_instructions(region: Region, instructions: float) -> MatrixInstructions | None:
    counted = [
        (one, times) for one in region.body if is_matrix(one.opcode) and (times := region.per_pass(one))
    ]
    mmas = sum(times for _, times in counted)
    if not mmas:
        return None
    shapes = [(tensor_product(one.opcode), times) for one, times in counted]
    operations = [2 * shape.multiply_adds * times for shape, times in shapes if shape]
    return MatrixInstructions(
        mmas=mmas,
        instructions_per_mma=instructions / mmas,
        operations_per_mma=sum(operations) / mmas if len(operations) == len(shapes) else None,
        others_issue_pct=100 * (1 - mmas / instructions),
    )


def _shared_loads(region: Region, fmas: float) -> SharedLoads | None:
    acting = [one for one in region.body if one.name in _SHARED_LOADS and not one.never_acts]
    loads = sum(map(region.per_pass, acting))
    if not loads:
        return None
    widths = [width_bits(one.opcode) for one in acting if one.executed]
    if None in widths:
        return SharedLoads(loads, None, None, fmas / loads, None)
    words = sum(region.per_pass(one) * (width_bits(one.opcode) or 0) / WORD_BITS for one in acting)
    return SharedLoads(
        loads=loads,
        words=words,
        bytes_per_load=WORD_BITS / 8 * words / loads,
        fmas_per_load=fmas / loads,
        fmas_per_word=fmas / words,
    )


def _operand_loads(region: Region, product: Product) -> list[OperandLoads]:
    if product.operands is None:
        return []
    a = product.find_a(region.after)
    if a is None:
        return [_loads(region, operand, "") for operand in product.operands]
    return [_loads(region, product.operands[a], "A"), _loads(region, product.operands[1 - a], "B")]


def _loads(region: Region, operand: Operand, name: Literal["A", "B", ""]) -> OperandLoads:
    counts: dict[str, float] = {}
    for load in operand.loads:
        counts[load.opcode] = counts.get(load.opcode, 0.0) + region.per_pass(load)
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return OperandLoads(name, [LoopInstruction(*one) for one in ranked], _places_of(operand.loads))


def _cautions(code: Code, scope: Scope, opcodes: Mapping[str, float]) -> list[str]:
    if code.by_structure:
        which = (
            "the loop is the deepest one in the code, and every instruction in it counts as executed"
            if scope == "loop"
            else "every instruction of the function counts as executed once by each warp"
        )
        others = len(code.functions) - 1
        hidden = f"this is one of {others + 1} functions; other kernels of a graph or a range are not shown"
        return [f"nothing was counted: {which}", *([hidden] if others else [])]
    if code.like < code.launches:
        return [f"the launches ran different machine code: this is that of {code.like} of {code.launches}"]
    gap = _gap_pct(code.instructions, opcodes)
    if gap > _LARGEST_GAP_PCT:
        return [f"counts by instruction and by opcode differ by {gap:.1f} %: they come from different passes"]
    return []


def _gap_pct(instructions: Sequence[Instruction], opcodes: Mapping[str, float]) -> float:
    counted: Counter[str] = Counter()
    for one in instructions:
        counted[one.opcode] += one.executed or 0.0  # type: ignore[assignment]
    total = sum(opcodes.values())
    names = {*counted, *opcodes}
    return 100 * sum(abs(counted[name] - opcodes.get(name, 0.0)) for name in names) / total if total else 0.0
