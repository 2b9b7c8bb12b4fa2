"""Reads what each instruction of a kernel did: how often it ran, for how many lanes, and what its accesses cost.

A `Profile` in; its `Site`s out, in the order of the code. Sectors and passes are those that NVIDIA's tools count for
each instruction, beside the fewest that its accesses could have needed. What was not recorded is None.
"""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Literal

from profiler.analyse.code.code import Code, Instruction, read_instructions
from profiler.analyse.code.opcodes import width_bits
from profiler.analyse.recording.profile import Profile
from profiler.store.runs.run_store import Run
from profiler.store.tables.columns import labels_of

if TYPE_CHECKING:
    import pyarrow as pa

LANES = 32

Kind = Literal[
    "global load", "global store", "shared load", "shared store", "local", "atomic", "shared atomic", "tensor",
    "fp64", "fp32", "special", "conversion", "integer", "control", "barrier", "other",
]  # fmt: skip

GLOBAL: tuple[Kind, ...] = ("global load", "global store", "local", "atomic")
SHARED: tuple[Kind, ...] = ("shared load", "shared store", "shared atomic")
ACCESSES: tuple[Kind, ...] = (*GLOBAL, *SHARED)
_KINDS: tuple[tuple[str, Kind], ...] = (
    (r"LDGSTS|LDG(\.|$)|LD(\.|$)|LDGDEPBAR|UBLKCP|UTMALDG|TLD|TEX|SULD", "global load"),
    (r"STG(\.|$)|ST(\.|$)|UTMASTG|SUST", "global store"),
    (r"LDS(\.|$)|LDSM", "shared load"),
    (r"STS(\.|$)|STSM|STAS", "shared store"),
    (r"LDL|STL", "local"),
    (r"ATOMS", "shared atomic"),
    (r"ATOM|RED(G|AS|\.|$)", "atomic"),
    (r"[A-Z]*MMA|WARPGROUP|HADD2\.MMA", "tensor"),
    (r"D(ADD|MUL|FMA|SETP|MNMX|SET)|MUFU\.\w*64H|F2F\.F(32\.F64|64\.F32)|[IF]2[IF].*F64", "fp64"),
    (r"MUFU", "special"),
    (r"F2F|F2I|I2F|FRND|I2I|F2FP|F2IP|I2FP", "conversion"),
    (r"BAR|MEMBAR|ERRBAR", "barrier"),
    (r"F(ADD|MUL|FMA|SETP|MNMX|SEL|SET|CHK|SWZADD)|H(ADD2|MUL2|FMA2|SETP2|MNMX2)|FFMA2", "fp32"),
    (r"BRA|BRX|JMP|JMX|EXIT|RET|CALL|BSSY|BSYNC|BREAK|NANOSLEEP|YIELD|KILL|BPT", "control"),
    (r"U?IMAD\.MOV|U?MOV|CS2R|S2U?R|U?LDC|R2UR|P2R|R2P|NOP|VOTE|SHFL|MATCH|REDUX|ELECT|ACQBULK", "other"),
    (
        r"U?(IADD3?|IMAD|IMUL|I?MNMX|VIMNMX|VIADD|VIADDMNMX|IABS|LEA|LOP3|SHF|SHL|SHR|BMSK|SGXT|PRMT|SEL|ISETP|"
        r"PLOP3|POPC|FLO|BREV|IDP|VABSDIFF)",
        "integer",
    ),
)
_BY_OPCODE = tuple((re.compile(pattern), kind) for pattern, kind in _KINDS)

_THREADS, _ACTING = "thread_inst_executed", "thread_inst_executed_true"
_SECTORS, _IDEAL_SECTORS = (
    "memory_l2_theoretical_sectors_global",
    "memory_l2_theoretical_sectors_global_ideal",
)
_PASSES, _IDEAL_PASSES = "memory_l1_wavefronts_shared", "memory_l1_wavefronts_shared_ideal"
_LOCAL_SECTORS = "memory_l2_theoretical_sectors_local"
_COUNTED = frozenset(
    {_THREADS, _ACTING, _SECTORS, _IDEAL_SECTORS, _PASSES, _IDEAL_PASSES, _LOCAL_SECTORS}
)  # fmt: skip
# The catalogue's names of stall reasons that samples are stored under other names of.
_REASONS = {
    "dispatch_stall": "dispatch", "no_instructions": "no_instruction", "warpgroup_arrive": "gmma",
}  # fmt: skip
_NOT_WAITING = ("selected", "not_selected")


@lru_cache(maxsize=1024)
def kind_of(opcode: str) -> Kind:
    return next((kind for pattern, kind in _BY_OPCODE if pattern.match(opcode)), "other")


@dataclass(frozen=True, eq=False)
class Site:
    """One instruction. Counts are per launch; `waits` are stall samples by reason, without those of warps that could issue."""

    instruction: Instruction
    function: int
    position: int  # in its function
    text: str | None  # of its source line
    lanes: float | None  # threads that executed it, for each execution
    acting: float | None  # of these, those that were not predicated off
    sectors: float | None
    ideal_sectors: float | None
    passes: float | None
    ideal_passes: float | None
    waits: Mapping[str, int] = field(default_factory=dict)

    @property
    def executed(self) -> float:
        return self.instruction.executed or 0.0

    @property
    def opcode(self) -> str:
        return self.instruction.opcode

    @cached_property
    def kind(self) -> Kind:
        return kind_of(self.instruction.opcode)

    @cached_property
    def width(self) -> int:
        """Returns the bits that one lane accesses."""
        return width_bits(self.instruction.opcode) or 0

    @property
    def excess_sectors(self) -> float:
        return max(0.0, (self.sectors or 0.0) - (self.ideal_sectors or 0.0))

    @property
    def excess_passes(self) -> float:
        return max(0.0, (self.passes or 0.0) - (self.ideal_passes or 0.0))

    @property
    def idle_share(self) -> float:
        """Returns the share of the lanes that did nothing."""
        acting = self.lanes if self.acting is None else self.acting
        return 0.0 if acting is None else max(0.0, 1.0 - acting / LANES)

    @property
    def samples(self) -> int:
        return sum(self.waits.values())


def read_sites(profile: Profile) -> list[Site]:
    """Returns the instructions that ran, in the order of the code; none where the recording counts none."""
    code, run = profile.code, profile.run
    if code is None or run is None or not code.is_counted:
        return []
    launches = profile.numbers
    counted = _counts(run, launches)
    described = _described(run, profile.kernel, launches)
    return [
        _site(instruction, function, position, counted, described)
        for function, position, instruction in _numbered(code)
        if instruction.executed
    ]


def _numbered(code: Code) -> Iterable[tuple[int, int, Instruction]]:
    for number, function in enumerate(code.functions):
        for position, instruction in enumerate(function):
            yield number, position, instruction


_Place = tuple[int, int]  # function and offset


def _site(
    instruction: Instruction,
    function: int,
    position: int,
    counted: Mapping[str, Mapping[_Place, float]],
    described: Mapping[_Place, tuple[str | None, Counter[str]]],
) -> Site:
    place = (function, instruction.offset)

    def count(name: str) -> float | None:
        return counted.get(name, {}).get(place)

    executed = instruction.executed or 0.0
    threads, acting = count(_THREADS), count(_ACTING)
    text, waits = described.get(place, (None, Counter[str]()))
    return Site(
        instruction=instruction,
        function=function,
        position=position,
        text=text,
        lanes=None if threads is None else threads / executed,
        acting=None if acting is None else acting / executed,
        sectors=count(_LOCAL_SECTORS if kind_of(instruction.opcode) == "local" else _SECTORS),
        ideal_sectors=count(_IDEAL_SECTORS),
        passes=count(_PASSES),
        ideal_passes=count(_IDEAL_PASSES),
        waits=waits,
    )


def _counts(run: Run, launches: Collection[int]) -> dict[str, dict[_Place, float]]:
    """Returns by metric what was counted for each instruction, averaged over the launches."""
    table = _rows_of_metrics(run.table("instances"), _COUNTED)
    rows = zip(
        table.column("launch").to_pylist(),
        labels_of(table, "metric"),
        labels_of(table, "id_kind"),
        table.column("function_index").to_pylist(),
        table.column("id_number").to_pylist(),
        table.column("value").to_pylist(),
        strict=True,
    )
    wanted = set(launches)
    found: dict[str, dict[_Place, float]] = {}
    for launch, metric, kind, function, offset, value in rows:
        if kind == "offset" and launch in wanted and value is not None:
            places = found.setdefault(metric, {})
            place = (function or 0, offset)
            places[place] = places.get(place, 0.0) + value / len(wanted)
    return found


def _rows_of_metrics(table: pa.Table, names: Collection[str]) -> pa.Table:
    """Returns the rows of these metrics; the table holds some hundred others."""
    import pyarrow as pa

    chunks = table.column("metric").chunks
    found = [
        [code for code, name in enumerate(one.dictionary.to_pylist()) if name in names] for one in chunks
    ]
    if not any(found):
        return table.slice(0, 0)
    import pyarrow.compute as pc  # takes 20 ms, which most recordings need not wait for

    masks = []
    for chunk, codes in zip(chunks, found, strict=True):
        held = pa.py_buffer(array("i", codes))  # as a buffer: pyarrow imports pandas to look at a list
        wanted = pa.Array.from_buffers(pa.int32(), len(codes), [None, held])
        masks.append(pc.is_in(chunk.indices, value_set=wanted))
    return table.filter(pa.chunked_array(masks, pa.bool_()))


def _described(
    run: Run, kernel: str, launches: Collection[int]
) -> dict[_Place, tuple[str | None, Counter[str]]]:
    """Returns the source text and the waiting samples of each instruction; nothing where neither is recorded."""
    instructions = run.table("instructions")
    if all(instructions.column(name).null_count == instructions.num_rows for name in ("source", "stalls")):
        return {}
    tables, _ = read_instructions(run, kernel, ("function_index", "source", "stalls"), launches)
    found: dict[_Place, tuple[str | None, Counter[str]]] = {}
    for number, table in enumerate(tables):
        if number and table.column("stalls").null_count == table.num_rows:
            continue  # nothing but the text, which is the same in every launch
        columns = zip(
            table.column("function_index").to_pylist(),
            table.column("offset").to_pylist(),
            labels_of(table, "source"),
            table.column("stalls").to_pylist(),
            strict=True,
        )
        for function, offset, text, stalls in columns:
            place = (function, offset)
            if place not in found:
                found[place] = (text, Counter())
            waits = found[place][1]
            for reason, count in stalls or ():
                if reason not in _NOT_WAITING:
                    waits[_REASONS.get(reason, reason)] += count
    return found
