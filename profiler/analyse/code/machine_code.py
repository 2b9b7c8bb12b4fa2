"""Compares two hot loops: what became of the loads, and which code stands beside which.

`LoopSheet`s and codes in; `MachineCode` out, the JSON of `prof sass`, and rows for a page.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from profiler.analyse.code import hot_loop
from profiler.analyse.code.alignment import (
    InstructionBlock,
    align_blocks,
    align_counts,
    align_instructions,
    blocks_of,
)
from profiler.analyse.code.code import Instruction
from profiler.analyse.code.opcodes import is_plumbing
from profiler.analyse.code.regions import Region, find_region, read_counted_code
from profiler.analyse.findings import SCHEMA_VERSION, HotLoop, LeftOut, LoadChange, LoopInstruction
from profiler.analyse.importance import Importance
from profiler.analyse.recording.main_shape import of_main_shape, say_main_shape
from profiler.analyse.recording.profile import Profile
from profiler.analyse.recording.source_lines import at_authors_lines

Per = Literal["iteration", "step", "warp", "call"]
Shown = TypeVar("Shown")
# Rows between two barriers or branches; each row has an entry for each kernel.
Stretch = Sequence[tuple[Shown | None, ...]]

_MOST_OF_A_LOOP = 8
_MOST_OF_A_FUNCTION = 100


class MachineCode(Struct, frozen=True):
    """One kernel, or two with what changed; `changes` are counted `per` iteration or step. `cautions` are about both."""

    schema_version: int
    kernels: list[hot_loop.LoopSheet]
    per: Per
    changes: Annotated[list[LoadChange], Importance(100, each=1)]
    left_out: LeftOut = {}
    cautions: list[str] = []


@dataclass(frozen=True)
class CodeView:
    """The finding, and the code that it is about."""

    finding: MachineCode
    regions: list[Region]

    def counts(self) -> list[Stretch[hot_loop.PlacedOpcode]]:
        """Returns each opcode of a stretch once, with its count; of two kernels side by side."""
        return self._side_by_side(hot_loop.count_at_places, align_counts)

    def listing(self) -> list[Stretch[Instruction]]:
        """Returns every instruction that was executed, of two kernels side by side."""
        return self._side_by_side(lambda block, _: block, align_instructions)

    def _side_by_side(
        self,
        entries: Callable[[InstructionBlock, Region], Sequence[Shown]],
        align: Callable[[Sequence[Shown], Sequence[Shown]], Stretch[Shown]],
    ) -> list[Stretch[Shown]]:
        """Returns the entries of each block; of two kernels, `align` puts those of one block beside the other's."""
        if len(self.regions) == 1:
            (region,) = self.regions
            return [[(one,) for one in entries(block, region)] for block in _blocks(region)]
        return [
            align(*(entries(block or [], region) for block, region in zip(blocks, self.regions, strict=True)))
            for blocks in align_blocks(*map(_blocks, self.regions))
        ]


def view_machine_code(profiles: Sequence[Profile], *, whole: bool = False) -> CodeView:
    """Describes one or two kernels, each in the launches that take most of its time, as `show` and `compare` do.

    Raises an error where a recording has no execution counts.
    """
    mains = [of_main_shape(profile) for profile in profiles]
    codes = [at_authors_lines(main, read_counted_code(main)) for main in mains]
    sheets = []
    for profile, main, code in zip(profiles, mains, codes, strict=True):
        sheet = hot_loop.derive_loop_sheet(main, code, whole=whole)
        sheets.append(replace(sheet, cautions=[*say_main_shape(profile, main), *sheet.cautions]))
    if len({sheet.scope for sheet in sheets}) > 1:  # an iteration is no part of a function that has none
        view = view_machine_code(profiles, whole=True)
        return CodeView(_with_caution(view.finding, _has_no_loop(sheets)), view.regions)
    per = _common_unit(sheets)
    changes = list_changes(sheets[0], sheets[1], per) if len(sheets) == 2 else []
    most = _MOST_OF_A_FUNCTION if whole else _MOST_OF_A_LOOP
    finding = MachineCode(SCHEMA_VERSION, [_bounded(sheet, most) for sheet in sheets], per, changes)
    return CodeView(finding, [find_region(code, whole=whole) for code in codes])


def _has_no_loop(sheets: Sequence[hot_loop.LoopSheet]) -> str:
    (label,) = (sheet.label for sheet in sheets if sheet.scope == "function")
    return f"{label} has no hot loop, so that the whole functions stand beside each other"


def _with_caution(finding: MachineCode, caution: str) -> MachineCode:
    return replace(finding, cautions=[caution, *finding.cautions])


def _bounded(sheet: hot_loop.LoopSheet, most: int) -> hot_loop.LoopSheet:
    """Keeps the opcodes that matter most, and all shared loads, which are summed up, still in order of appearance."""
    ranked = sorted(
        sheet.opcodes, key=lambda one: (not _loads_shared(one.opcode), is_plumbing(one.opcode), -one.count)
    )
    kept = [one for one in sheet.opcodes if one in ranked[:most]]
    return replace(sheet, opcodes=kept, opcodes_left_out=len(sheet.opcodes) - len(kept))


def compare_hot_loops(before: Profile, after: Profile) -> HotLoop | None:
    """Returns the short form that a comparison carries, where both kernels were counted and both loop."""
    codes = [one.code if one.code and one.code.executed else None for one in (before, after)]
    if codes[0] is None or codes[1] is None:
        return None
    sheets = hot_loop.derive_loop_sheet(before, codes[0]), hot_loop.derive_loop_sheet(after, codes[1])
    if any(sheet.scope == "function" for sheet in sheets):
        return None
    per: Literal["iteration", "step"] = "step" if _common_unit(sheets) == "step" else "iteration"
    left, right = (_most(sheet, per) for sheet in sheets)
    return HotLoop(left, right, per, list_changes(*sheets, per))


def _most(sheet: hot_loop.LoopSheet, per: Per) -> list[LoopInstruction]:
    counts = [LoopInstruction(one.opcode, one.count) for one in sheet.opcodes]
    ranked = sorted(counts, key=lambda one: (is_plumbing(one.opcode), -one.count, one.opcode))
    return _per_unit(ranked[:_MOST_OF_A_LOOP], sheet, per)


def _common_unit(sheets: Sequence[hot_loop.LoopSheet]) -> Per:
    """Returns the unit of the counts: a step where every loop has steps, so that unrolling makes no difference."""
    if all(sheet.scope == "function" for sheet in sheets):
        return "call" if any(sheet.is_called for sheet in sheets) else "warp"
    return "step" if all(sheet.steps for sheet in sheets) else "iteration"


def _per_unit(
    counts: Sequence[LoopInstruction], sheet: hot_loop.LoopSheet, per: Per
) -> list[LoopInstruction]:
    steps = (sheet.steps or 1) if per == "step" else 1
    return [LoopInstruction(one.opcode, one.count / steps) for one in counts]


def list_changes(before: hot_loop.LoopSheet, after: hot_loop.LoopSheet, per: Per) -> list[LoadChange]:
    """Lists what became of the loads: by operand where both sides name theirs, else together, else all shared loads."""
    sheets = (before, after)
    named = [{one.name: one.loads for one in sheet.operands} for sheet in sheets]
    if all(names.keys() == {"A", "B"} for names in named):
        return [_change(name, [side[name] for side in named], sheets, per) for name in ("A", "B")]
    if before.operands and after.operands:
        return [_change("both", [_together(sheet.operands) for sheet in sheets], sheets, per)]
    shared = [_shared(sheet) for sheet in sheets]
    # A load without a named memory may read shared memory, as in code that was not optimised.
    unknown = any(not loads and _has_generic(sheet) for loads, sheet in zip(shared, sheets, strict=True))
    return [_change("shared", shared, sheets, per)] if any(shared) and not unknown else []


def _together(operands: Sequence[hot_loop.OperandLoads]) -> list[LoopInstruction]:
    counts: dict[str, float] = {}
    for load in (load for operand in operands for load in operand.loads):
        counts[load.opcode] = counts.get(load.opcode, 0.0) + load.count
    return [LoopInstruction(opcode, count) for opcode, count in counts.items()]


def _shared(sheet: hot_loop.LoopSheet) -> list[LoopInstruction]:
    return [LoopInstruction(one.opcode, one.count) for one in sheet.opcodes if _loads_shared(one.opcode)]


def _loads_shared(opcode: str) -> bool:
    return opcode.startswith("LDS")


def _has_generic(sheet: hot_loop.LoopSheet) -> bool:
    return any(one.opcode.split(".")[0] == "LD" for one in sheet.opcodes)


UNIT_TEXT: dict[Per, str] = {"step": "k-step", "iteration": "iteration", "warp": "warp", "call": "call"}
_OPERAND_NAMES = {"A": "A operand", "B": "B operand", "both": "both operands", "shared": "shared loads"}


def _change(
    operand: Literal["A", "B", "both", "shared"],
    loads: Sequence[Sequence[LoopInstruction]],
    sheets: Sequence[hot_loop.LoopSheet],
    per: Per,
) -> LoadChange:
    before, after = (_per_unit(side, sheet, per) for side, sheet in zip(loads, sheets, strict=True))
    texts = loads_text(before), loads_text(after)
    fed = sheets[0].accumulators or 0, sheets[1].accumulators or 0
    fmas = fed if per == "step" and fed[0] != fed[1] else None
    if fmas:  # more loads are no step back where they feed more
        texts = f"{texts[0]} for {_fmas_text(fmas[0])}", f"{texts[1]} for {_fmas_text(fmas[1])}"
    same = texts[0] == texts[1]
    what = texts[0] if same else f"{texts[0]} -> {texts[1]}"
    sentence = f"{_OPERAND_NAMES[operand]}: {what} per {UNIT_TEXT[per]}{', unchanged' if same else ''}"
    return LoadChange(operand, before, after, sentence, fmas)


def _fmas_text(count: int) -> str:
    return f"{count:,} FMA{'' if count == 1 else 's'}"


def list_loads(sheet: hot_loop.LoopSheet, per: Per) -> list[tuple[str, list[LoopInstruction]]]:
    """Lists the loads of each operand of one kernel, or else of shared memory, with a sentence for each."""
    are_named = any(one.name for one in sheet.operands)
    names = ("A operand", "B operand") if are_named else ("one operand", "the other")
    loads = [(name, one.loads) for name, one in zip(names, sheet.operands, strict=False)]
    if not loads and (shared := _shared(sheet)):
        loads = [(_OPERAND_NAMES["shared"], shared)]
    counted = [(name, _per_unit(one, sheet, per)) for name, one in loads]
    return [(f"{name}: {loads_text(one)} per {UNIT_TEXT[per]}", one) for name, one in counted]


def loads_text(loads: Sequence[LoopInstruction]) -> str:
    """Returns `8 LDS + 2 LDS.128`, or `none`."""
    return " + ".join(f"{_count_text(one.count)} {one.opcode}" for one in loads) or "none"


def _count_text(count: float) -> str:
    return f"{count:,.0f}" if count == int(count) else f"{count:.4g}"


def _blocks(region: Region) -> list[InstructionBlock]:
    return blocks_of(region.body) if region.is_divided else [[one for one in region.body if one.executed]]
