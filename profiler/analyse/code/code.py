"""Reads the machine code of one kernel with the counts of what was executed.

A `Run` and a kernel name in; a `Code` out. Launches whose instructions differ are not
averaged: the code that most launches ran stands for the kernel, and says of how many.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import starmap
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import Struct
from msgspec.structs import force_setattr

from profiler.catalog.metrics import READY, STALLS_AS_SAMPLED
from profiler.store.tables.columns import distinct_labels, find_stretches, labels_of
from profiler.text import place_name, source_name

if TYPE_CHECKING:
    import pyarrow as pa

    from profiler.store.runs.run import Run

KEPT = 32_768  # facts that are remembered of instructions and their texts: analyses ask for the same ones again and again
_TARGET = re.compile(r"(?<![\w+])0x([0-9a-f]+)$")
NEVER = "!PT"
BRANCHES = ("BRA", "JMP")  # to an address that they name
ENDED = "drain"  # the reason to wait of a warp that has executed its EXIT
_SHOWN_STALLS = {**STALLS_AS_SAMPLED, **dict.fromkeys(READY, "ready")}
_COLUMNS = (
    "launch", "function_index", "offset", "opcode", "sass", "file", "line", "executed", "samples", "stalls",
)  # fmt: skip


class Instruction(Struct, frozen=True):
    """`executed` counts warps per launch, and is None where the report does not count them.

    `main_stall` is the reason to wait that most of the `samples` show, or says that warps were ready to go on. The fields after it
    follow from the others: `predicate` is `!P0` of `@!P0 BRA 0x40`, `operands` are R0, R1, -R2 and R0 of `FFMA R0, R1, -R2, R0`,
    and `place` is `kernel.cu:12`.
    """

    offset: int
    opcode: str  # with modifiers, without predicate
    text: str  # the whole instruction; branch targets are offsets
    executed: float | None = None
    file: str | None = None
    line: int | None = None
    samples: int | None = None
    main_stall: str | None = None
    name: str = ""  # the opcode without modifiers
    predicate: str | None = None
    operands: tuple[str, ...] = ()
    place: str | None = None

    def __post_init__(self) -> None:
        predicate, _, operands = parse_text(self.text)
        force_setattr(self, "name", self.opcode.partition(".")[0])
        force_setattr(self, "predicate", predicate)
        force_setattr(self, "operands", operands)
        force_setattr(self, "place", _named_place(self.file, self.line))

    @property
    def never_acts(self) -> bool:
        """Returns whether it is issued and counted, but predicated off for good, as compilers pad asynchronous copies."""
        return self.predicate == NEVER

    @property
    def moves_a_constant(self) -> bool:
        """Returns whether it adds a constant to a product of halves that is zero: compilers move constants so by another pipe."""
        if self.name != "HFMA2":
            return False
        return [operand.removeprefix("-") for operand in self.operands[1:3]] == ["RZ", "RZ"]

    @property
    def target(self) -> int | None:
        """Returns where a branch goes, as an offset in the same function."""
        match = _TARGET.search(self.text) if self.name in BRANCHES else None
        return int(match[1], 16) if match else None

    @property
    def called(self) -> int | None:
        """Returns where a call goes, as an offset in the same code, if its function was compiled with the kernel."""
        match = _TARGET.search(self.text) if self.opcode.startswith("CALL.REL") else None
        return int(match[1], 16) if match else None


@lru_cache(maxsize=KEPT)
def place_of(file: str | None, line: int | None) -> tuple[str, int] | None:
    """Returns the file's name without its folder, which differs between recordings, and the line; None where they are not known."""
    return (source_name(file.replace("\\", "/").rpartition("/")[2]), line) if file and line else None


@lru_cache(maxsize=KEPT)
def _named_place(file: str | None, line: int | None) -> str | None:
    place = place_of(file, line)
    return place_name(*place) if place else None


def executed_in(instructions: Iterable[Instruction]) -> float:
    """Returns how many instructions were executed, counted per warp."""
    return sum(one.executed or 0.0 for one in instructions)


def without_padding(code: Sequence[Instruction]) -> list[Instruction]:
    """Returns the code without the NOPs, and the branch to itself, that fill the function's end."""
    end = len(code)
    while end and (code[end - 1].name == "NOP" or code[end - 1].target == code[end - 1].offset):
        end -= 1
    return list(code[:end])


class InstructionText(NamedTuple):
    """The parts of an instruction's text."""

    predicate: str | None
    opcode: str
    operands: tuple[str, ...]


@lru_cache(maxsize=KEPT)
def parse_text(text: str) -> InstructionText:
    predicate = None
    if text.startswith("@"):
        predicate, _, text = text[1:].partition(" ")
    opcode, _, operands = text.partition(" ")
    return InstructionText(predicate, opcode, tuple(operands.split(", ")) if operands else ())


@dataclass(frozen=True, eq=False)
class Code:
    """`functions` are several for a range or a graph; `like` of `launches` launches ran this code.

    If nothing was counted, `by_structure` says that the executions are weights (`loops.weighted_by_structure`). `stalls` are those of
    each instruction in the order of the recording, as the sampler found them.
    """

    functions: tuple[tuple[Instruction, ...], ...]
    launches: int
    like: int
    by_structure: bool = False
    stalls: Sequence[Mapping[str, int]] = ()

    @property
    def instructions(self) -> list[Instruction]:
        return [instruction for function in self.functions for instruction in function]

    @property
    def is_counted(self) -> bool:
        return any(instruction.executed is not None for instruction in self.instructions)

    @property
    def executed(self) -> float:
        """Returns the warp instructions per launch."""
        return executed_in(self.instructions)


def read_code(run: Run, kernel: str, among: Collection[int] = ()) -> Code | None:
    """Reads a kernel's code, or that of the launches `among` its own; None if none is recorded, or NVIDIA's reader cannot disassemble it."""
    like, launches = read_instructions(run, kernel, _COLUMNS, among)
    if not like or not any(labels_of(like[0], "opcode")):
        return None
    stalls = _add_up_stalls(like)
    return Code(_functions(like, list(stalls)), launches, len(like), stalls=stalls)


def is_undecoded(run: Run, kernel: str, among: Collection[int]) -> bool:
    """Returns whether instructions were counted that NVIDIA's reader could not disassemble."""
    if all(distinct_labels(run.columns("instructions", "opcode"), "opcode")):
        return False
    like, _ = read_instructions(run, kernel, ("opcode",), among)
    return bool(like) and not any(labels_of(like[0], "opcode"))


def read_instructions(
    run: Run, kernel: str, columns: Sequence[str], among: Collection[int] = ()
) -> tuple[list[pa.Table], int]:
    """Returns the tables of the launches whose code stands for the kernel, and the number of all launches."""
    columns = list(dict.fromkeys([*columns, "launch", "offset", "sass", "executed"]))
    variants = _variants(run.table("instructions").select(columns), among or _launches_of(run, kernel))
    # The variant of most launches counts, and among equals the one with the most work: a warm-up is not typical.
    like = max(variants, key=lambda tables: (len(tables), _total(tables[0])), default=[])
    return like, sum(map(len, variants))


def _launches_of(run: Run, kernel: str) -> list[int]:
    launches = run.columns("launches", "launch", "kernel")
    rows = zip(launches.column("launch").to_pylist(), labels_of(launches, "kernel"), strict=True)
    return [number for number, name in rows if name == kernel]


def _variants(instructions: pa.Table, launches: Collection[int]) -> list[list[pa.Table]]:
    """Groups the launches' tables by equal machine code; a launch without any is left out."""
    wanted = set(launches)
    variants: list[list[pa.Table]] = []
    for launch, start, length in find_stretches(instructions.column("launch").to_pylist()):
        if launch in wanted:
            table = instructions.slice(start, length)
            like = next((tables for tables in variants if _same_code(tables[0], table)), None)
            variants.append([table]) if like is None else like.append(table)
    return variants


def _same_code(one: pa.Table, other: pa.Table) -> bool:
    if one.num_rows != other.num_rows or not one.column("offset").equals(other.column("offset")):
        return False
    texts = one.column("sass"), other.column("sass")  # as codes first: equal ones are equal texts
    return texts[0].equals(texts[1]) or labels_of(one, "sass") == labels_of(other, "sass")


def _total(table: pa.Table) -> float:
    return sum(count or 0 for count in table.column("executed").to_pylist())


def _add_up_stalls(tables: Sequence[pa.Table]) -> list[dict[str, int]]:
    """Returns for each instruction how many samples show each reason to wait, added up over the launches."""
    found: list[dict[str, int]] = [{} for _ in range(tables[0].num_rows)]
    for stalls in (table.column("stalls") for table in tables):
        if stalls.null_count < len(stalls):
            for counts, of_launch in zip(found, stalls.to_pylist(), strict=True):
                for reason, count in of_launch or ():
                    counts[reason] = counts.get(reason, 0) + count
    return found


def _functions(
    tables: Sequence[pa.Table], stalls: list[Mapping[str, int]]
) -> tuple[tuple[Instruction, ...], ...]:
    """Returns each instruction once: executions averaged over the launches, samples added up."""
    first = tables[0]
    executed = [
        sum(counts) / len(counts) if counts else None for counts in _over_launches(tables, "executed")
    ]
    samples = [sum(counts) if counts else None for counts in _over_launches(tables, "samples")]
    index, offsets, lines = (first.column(name).to_pylist() for name in ("function_index", "offset", "line"))
    opcodes, texts, files = (labels_of(first, name) for name in ("opcode", "sass", "file"))
    _move_to_exits(index, opcodes, executed, samples, stalls)
    functions: dict[int, list[Instruction]] = {}
    rows = zip(
        offsets, opcodes, texts, executed, files, lines, samples, map(_main_stall, stalls), strict=True
    )
    for function, instruction in zip(index, starmap(Instruction, rows), strict=True):
        functions.setdefault(function, []).append(instruction)
    return tuple(tuple(functions[index]) for index in sorted(functions))


def _move_to_exits(
    functions: Sequence[int],
    opcodes: Sequence[str | None],
    executed: Sequence[float | None],
    samples: list[int | None],
    stalls: list[Mapping[str, int]],
) -> None:
    """Moves the samples of warps that have ended back to their EXIT, which is the last instruction before them that ran.

    Such a warp waits for its stores. The sampler finds it behind the EXIT: at padding, which never runs, or at the first instruction of
    a function that the kernel calls. Of the samples there, only those that wait for stores to drain are of warps that have ended.
    """
    last = None
    for place, count in enumerate(executed):
        if last is not None and functions[last] == functions[place]:
            if not count:
                ended, moved = stalls[place], samples[place] or 0
            elif last == place - 1 and opcodes[last] == "EXIT":
                ended = {reason: number for reason, number in stalls[place].items() if reason == ENDED}
                moved = sum(ended.values())
            else:
                ended, moved = {}, 0
            if moved:
                samples[last], samples[place] = (samples[last] or 0) + moved, (samples[place] or 0) - moved
            if ended:
                stalls[last] = Counter(stalls[last]) + Counter(ended)
                stalls[place] = {one: number for one, number in stalls[place].items() if one not in ended}
        if count:
            last = place


def _main_stall(reasons: Mapping[str, int]) -> str | None:
    """Returns the most frequent reason of the samples, if there are any; `ready` for warps that waited for nothing."""
    if not reasons:
        return None
    counts: dict[str, int] = {}
    for reason, count in reasons.items():
        shown = _SHOWN_STALLS.get(reason, reason)
        counts[shown] = counts.get(shown, 0) + count
    return max(counts, key=lambda reason: (counts[reason], reason))


def _over_launches(tables: Sequence[pa.Table], column: str) -> list[Sequence[Any]]:
    """Returns the values of each instruction, without the launches that lack one."""
    per_launch = [one for table in tables if (one := table.column(column)).null_count < len(one)]
    if not per_launch:
        return [()] * tables[0].num_rows
    rows = zip(*(one.to_pylist() for one in per_launch), strict=True)
    if not any(one.null_count for one in per_launch):
        return list(rows)
    return [[value for value in values if value is not None] for values in rows]
