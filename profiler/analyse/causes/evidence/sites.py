"""Reads what each instruction of a kernel did: how often it ran, for how many lanes, and what its accesses cost.

A `Profile` in; its `Site`s out, in the order of the code. Sectors and passes are as NVIDIA's tools count them for
each instruction, beside the fewest that its accesses could have needed. What was not recorded is None.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from profiler.analyse.code.code import NEVER, Instruction, read_instructions
from profiler.analyse.code.opcodes import width_bits
from profiler.analyse.code.registers import RegisterUse, predicates_in, use_of, uses_in
from profiler.analyse.recording.profile import Profile
from profiler.catalog.metrics import LANES, READY, SECTOR_BYTES, STALLS_AS_SAMPLED
from profiler.store.runs.run import Run
from profiler.store.tables.columns import labels_of, rows_labelled

Kind = Literal[
    "global load", "global store", "shared load", "shared store", "local", "atomic", "shared atomic", "tensor",
    "fp64", "fp32", "special", "conversion", "integer", "control", "barrier", "mio", "other",
]  # fmt: skip

GLOBAL: tuple[Kind, ...] = ("global load", "global store", "local", "atomic")
SHARED: tuple[Kind, ...] = ("shared load", "shared store", "shared atomic")
ACCESSES: tuple[Kind, ...] = (*GLOBAL, *SHARED)
# Instructions that test, branch, count and compute addresses for the accesses and the results; no barriers.
BOOKKEEPING: tuple[Kind, ...] = ("integer", "control", "other")
LOADS: tuple[Kind, ...] = ("global load", "shared load")
STORES: tuple[Kind, ...] = ("global store", "shared store")
ARITHMETIC: tuple[Kind, ...] = ("fp32", "fp64", "special")
# Copies from global to shared memory that need no registers: loads that are stores as well.
COPIES_TO_SHARED = ("LDGSTS", "UBLKCP", "UTMALDG")
TEXTURE_FETCHES = ("TEX", "TLD", "TLD4", "TXD")
_SWAPS = (".CAS", ".EXCH")  # what takes a lock
SIZE_IS_UNKNOWN = ("UBLKCP", "UTMALDG")  # one thread copies any size, and the sectors are not counted
VOTES = "BAR.RED"  # a barrier at which all threads learn what some of them found, as `__syncthreads_or`
# `__threadfence`, which a thread executes before others are to read what it stored
FENCES = ("MEMBAR", "ERRBAR")
MEETINGS = ("WARPSYNC", *FENCES, "CALL")  # after which other threads may store, or read what was stored
_KINDS: tuple[tuple[str, Kind], ...] = (
    (r"LDGSTS|LDG(\.|$)|LD(\.|$)|UBLKCP|UTMALDG|TLD|TEX|SULD", "global load"),
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
    # Values of other lanes, special registers and indexed constants come late, through the queue of shared memory. LDCU is
    # awaited as LDC is: each sets a scoreboard, in the code of nvcc 13.0 for sm_100. ULDC does not: it takes a fixed time.
    (r"SHFL|MATCH|REDUX|S2U?R|LDC", "mio"),
    (r"U?IMAD\.MOV|U?MOV|CS2R|ULDC|R2UR|P2R|R2P|NOP|VOTE|ELECT|ACQBULK", "other"),
    (
        r"U?(IADD3?|IMAD|IMUL|I?MNMX|V[HI]MNMX|VIADD|VIADDMNMX|IABS|LEA|LOP3|SHF|SHL|SHR|BMSK|SGXT|PRMT|SEL|ISETP|"
        r"PLOP3|POPC|FLO|BREV|IDP|VABSDIFF)",
        "integer",
    ),
)
# The pipe of an instruction, beside its issue slot, in a quarter of an H100's SM (CUDA C++ Programming Guide, "Arithmetic
# Instructions"). Where the guide says nothing, the recordings in tests/data/causes do: the instructions counted here, at 2 cycles
# each for the ALU and 1 for the FMA pipe, explain the measured load of both pipes to 0.2 points on average.
_UNITS: dict[Kind, tuple[str, ...]] = {
    "fp32": ("fma",), "fp64": ("fp64",), "special": ("xu",), "conversion": ("xu",), "tensor": ("tensor",),
}  # fmt: skip
# Products of integers run on the FMA pipe, and so do moves that are written as IMAD. One half of the pipe takes them, one every two
# cycles: a kernel of only IMAD or IDP keeps that half busy for 99 % of the time, and the pipe for 49 % (`scramble` and `dot_bytes` of
# integers.cu there).
_INTEGERS_ON_FMA = ("IMAD", "IMUL", "VIADD", "IDP")
# Products of 64 bits, and their upper halves, take twice as long: over all recordings on an H200, an IMAD.WIDE adds as much to the
# measured load of the FMA pipe as 2.00 other instructions, and an IMAD.HI as much as 2.01.
_TWICE = ("IMAD.WIDE", "IMAD.HI", "IMUL.WIDE", "IMUL.HI")
# Bits are counted and found at the rate of special functions: a kernel of POPC keeps that unit busy for 98 % of the time
# (`bits_counted` of integers.cu).
# FCHK, which tests whether a quotient needs the slow path, runs there, too: in the recordings on an H100 and an A100 that count the
# unit's work, the other instructions leave one unit of it for each FCHK.
_ON_SPECIAL = ("POPC", "FLO", "BREV", "FCHK")
# Beyond its arithmetic, the measured load of the ALU holds one for each I2IP, which packs integers, on an A40; and one for each P2R and
# R2P, which move predicates, on an RTX 3080 and an H100.
_OTHERS_ON_ALU = ("FSETP", "FSEL", "FMNMX", "FSET", "MOV", "I2FP", "F2FP", "I2IP", "P2R", "R2P")
# Values of other lanes come by the pipe of the accesses, and through the passes of shared memory: in the recordings in tests/data/causes,
# that pipe's measured load is one for each access, each shuffle and each read of the thread's index, within 0.7 % in 60 of the 61 with
# shuffles.
_ON_LSU = ("SHFL",)
# Lanes of an SM for double precision, by compute capability; GPUs for games have two (CUDA C++ Programming Guide,
# "Arithmetic Instructions", results per clock cycle and SM).
FP64_LANES = {"6.0": 32, "7.0": 32, "8.0": 32, "9.0": 64, "10.0": 64}
# Up to this average of acting lanes, one lane of each warp does something alone, such as store the warp's sum. Two share it out already.
ONE_LANE = 1.5
LANE_MISSING = 1 / LANES  # one lane of a warp
_FOR_WHOLE_WARPS = "U"  # runs beside both pipes
# Conversions that pack, or that stay within 32 bits and signs, run beside the special-function unit; those from and to double
# precision run on it, as the first guesses of double roots and quotients do.
BESIDE_SPECIAL = ("F2FP", "F2IP", "I2FP", "I2I")
_SPECIAL_OF_DOUBLES = ("F2F", "I2F", "F2I", "MUFU")
_DESCRIBING = ("source", "stalls", "inlined_at")
_NO_WAITS: Mapping[str, int] = {}
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


@dataclass(frozen=True)
class _Meaning:
    """Holds the properties that all instructions of one opcode share."""

    kind: Kind
    width: int  # bits that one lane accesses; 0 where it accesses no memory
    # The resources that each execution takes a part of; twice where it takes twice as long.
    units: tuple[str, ...]


@lru_cache(maxsize=4096)
def _meaning_of(opcode: str) -> _Meaning:
    kind = kind_of(opcode)
    units = _units_of(kind, opcode.partition(".")[0])
    return _Meaning(
        kind, width_bits(opcode) or 0, ("issue", *units, *(units if opcode.startswith(_TWICE) else ()))
    )


def kind_of(opcode: str) -> Kind:
    return next((kind for pattern, kind in _BY_OPCODE if pattern.match(opcode)), "other")


def _units_of(kind: Kind, name: str) -> tuple[str, ...]:
    if kind in ACCESSES or name in _ON_LSU:
        return ("lsu",)
    if name in _OTHERS_ON_ALU:
        return ("alu",)
    if name in _INTEGERS_ON_FMA:
        return ("fma", "fma_heavy")
    if name in _ON_SPECIAL:
        return ("xu",)
    if kind == "integer":
        return () if name.startswith(_FOR_WHOLE_WARPS) else ("alu",)
    if name in BESIDE_SPECIAL:
        return ()
    return ("xu",) if name in _SPECIAL_OF_DOUBLES else _UNITS.get(kind, ())


def _forward_from(branch: Instruction) -> int | None:
    """Returns the offset to which a branch leads forward."""
    target = branch.target if branch.name == "BRA" else None
    return target if target is not None and target > branch.offset else None


class Site:
    """One instruction that ran. Counts are per launch; `waits` are stall samples by reason, without those of warps that could issue. A
    forward branch `leads_to` an offset, past the code that it may skip.

    There are thousands of them, and a diagnosis reads each again and again: hence plain attributes.
    """

    __slots__ = (
        "acting", "executed", "function", "ideal_passes", "ideal_sectors", "inlined_at", "instruction", "kind", "lanes",
        "leads_to", "opcode", "passes", "position", "sectors", "taken", "text", "units", "use", "waits", "width",
    )  # fmt: skip

    def __init__(
        self,
        instruction: Instruction,
        function: int,
        position: int,
        use: RegisterUse | None = None,
        text: str | None = None,
        waits: Mapping[str, int] = _NO_WAITS,
        inlined_at: str | None = None,
    ) -> None:
        self.instruction = instruction
        self.function = function
        self.position = position  # in its function
        self.text = text  # of its source line
        self.inlined_at = inlined_at  # the calls that the compiler replaced by it
        self.waits = waits
        self.executed = instruction.executed or 0.0
        self.opcode = instruction.opcode
        meaning = _meaning_of(instruction.opcode)
        self.kind, self.width, self.units = meaning.kind, meaning.width, meaning.units
        if instruction.predicate == NEVER or instruction.moves_a_constant:
            self.kind, self.width = "other", 0
        self.use = use or use_of(instruction.text)  # what follows may say more than the text alone
        # The registers and predicates that it reads.
        self.taken = self.use.taken
        if self.kind == "control":
            self.taken |= predicates_in(instruction.text)
        self.leads_to = _forward_from(instruction)
        self.lanes: float | None = None  # threads that executed it, for each execution
        self.acting: float | None = None  # of these, those that were not predicated off
        self.sectors: float | None = None
        self.ideal_sectors: float | None = None
        self.passes: float | None = None
        self.ideal_passes: float | None = None

    @property
    def source_line(self) -> tuple[int, str | None]:
        """Returns its line of the source, in its function."""
        return self.function, self.instruction.place

    @property
    def acting_lanes(self) -> float:
        """Returns how many lanes act at each execution: all where that was not counted."""
        return LANES if self.acting is None else self.acting

    @property
    def lane_executions(self) -> float:
        """Returns how often a lane acts: the sum over all executions."""
        return self.executed * self.acting_lanes

    @property
    def bytes_of_lanes(self) -> float:
        """Returns how many bytes its lanes ask for, each for its own."""
        return self.lane_executions * self.width / 8

    @property
    def bytes_asked(self) -> float:
        """Returns how many different bytes its lanes ask for at most: one width a lane, or all of the fewest sectors that hold them."""
        if self.ideal_sectors is None:
            return self.bytes_of_lanes
        filled = self.ideal_sectors * SECTOR_BYTES
        return min(self.bytes_of_lanes, filled) if self.width else filled

    @property
    def stores_in_shared(self) -> bool:
        return self.kind in ("shared store", "shared atomic") or self.instruction.name in COPIES_TO_SHARED

    @property
    def multiplies_from_shared(self) -> bool:
        """Returns whether the tensor cores read a factor from shared memory themselves, at an address that registers describe."""
        return self.kind == "tensor" and "gdesc[" in self.instruction.text

    @property
    def excess_sectors(self) -> float:
        return max(0.0, (self.sectors or 0.0) - (self.ideal_sectors or 0.0))

    @property
    def idle_share(self) -> float:
        """Returns the share of the lanes that did nothing. A branch is executed for the lanes that do not take it, too."""
        acting = self.lanes if self.acting is None or self.kind == "control" else self.acting
        return 0.0 if acting is None else max(0.0, 1.0 - acting / LANES)


# GPUs with few lanes for double precision convert there, too: on an RTX 2070, a kernel of as many F2F.F64.F32 as DADD keeps that
# pipe busy for twice as long as the DADD alone would, and the special-function unit for 0 % of the time.
_CONVERSION_OF_DOUBLES = re.compile(r"F2F\.F(32\.F64|64\.F32)")
_ON_FP64 = ("issue", "fp64")
# CS2R, which writes zeros to pairs of registers, takes the ALU of an H100 and an H200, and no pipe of an A100 and an RTX 4090: there, the
# other instructions alone make up the measured load, even where CS2R would be 45 % of it.
_CLEARS_PAIRS, _CLEARS_ON_ALU_SINCE = "CS2R", 9.0
_ON_ALU = ("issue", "alu")


def is_swap(site: Site) -> bool:
    """Returns whether an atomic compares and swaps, or swaps, so that it may have to be repeated."""
    return any(swap in site.opcode for swap in _SWAPS)


def executed_parts(parts: Mapping[Site, float]) -> dict[Site, float]:
    """Returns how many executions of each instruction are in its part."""
    return {site: part * site.executed for site, part in parts.items()}


def only_some(work: Mapping[Site, float]) -> dict[Site, float]:
    """Returns the work of the instructions that have any of it: of accesses, few have."""
    return {site: count for site, count in work.items() if count}


def part_of(work: Mapping[Site, float], parts: Mapping[Site, float]) -> float:
    """Returns which part of all `work` goes with these parts of instructions; instructions without any work add nothing."""
    gone = sum([part * work[site] for site, part in parts.items() if site in work])
    return gone / whole if (whole := sum(work.values())) else 0.0


def use_of_units(parts: Mapping[Site, float]) -> dict[str, float]:
    """Returns how many executions on each unit are in these parts of instructions."""
    used: dict[str, float] = {}
    for site, part in parts.items():
        executed = part * site.executed
        for unit in site.units:
            used[unit] = used.get(unit, 0.0) + executed
    return used


def read_sites(profile: Profile) -> list[Site]:
    """Returns the instructions that ran, in the order of the code; none where the recording counts none."""
    code = profile.code
    if code is None or not code.is_counted:
        return []
    described = _described(profile.run, profile.kernel, profile.numbers, code.stalls)
    sites = [
        Site(instruction, number, position, use, *described.get((number, instruction.offset), ()))
        for number, function in enumerate(code.functions)
        for position, (instruction, use) in enumerate(zip(function, uses_in(function), strict=True))
        if instruction.executed
    ]
    if counted := _counts(profile.run, profile.numbers):
        for site in sites:
            _count(site, counted)
    if (capability := profile.compute_capability) is not None:
        place_on_pipes(sites, capability)
    return sites


def place_on_pipes(sites: Iterable[Site], capability: str) -> None:
    """Gives what another pipe executes on a GPU of this compute capability to that pipe."""
    converts, clears = capability not in FP64_LANES, float(capability) >= _CLEARS_ON_ALU_SINCE
    for site in sites:
        if converts and _CONVERSION_OF_DOUBLES.match(site.opcode):
            site.units = _ON_FP64
        elif clears and site.instruction.name == _CLEARS_PAIRS:
            site.units = _ON_ALU


_Place = tuple[int, int]  # function and offset


def _count(site: Site, counted: Mapping[str, Mapping[_Place, float]]) -> None:
    place = (site.function, site.instruction.offset)

    def count(name: str) -> float | None:
        return counted.get(name, {}).get(place)

    threads, acting = count(_THREADS), count(_ACTING)
    site.lanes = None if threads is None else threads / site.executed
    site.acting = None if acting is None else acting / site.executed
    site.sectors = count(_LOCAL_SECTORS if site.kind == "local" else _SECTORS)
    site.ideal_sectors = count(_IDEAL_SECTORS)
    site.passes = count(_PASSES)
    site.ideal_passes = count(_IDEAL_PASSES)


def _counts(run: Run, launches: Collection[int]) -> dict[str, dict[_Place, float]]:
    """Returns by metric what was counted for each instruction, averaged over the launches."""
    instances = run.columns(
        "instances", "launch", "metric", "id_kind", "id_number", "function_index", "value"
    )
    table = rows_labelled(instances, "metric", _COUNTED)  # of some hundred metrics
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


def _described(
    run: Run, kernel: str, launches: Collection[int], stalls: Iterable[Mapping[str, int]]
) -> dict[_Place, tuple[str | None, Counter[str], str | None]]:
    """Returns the source text, the waiting samples and the replaced calls of each instruction; nothing if none of these is recorded."""
    instructions = run.table("instructions")
    if all(instructions.column(name).null_count == instructions.num_rows for name in _DESCRIBING):
        return {}
    tables, _ = read_instructions(run, kernel, ("function_index", *_DESCRIBING), launches)
    first = tables[0]
    places = zip(first.column("function_index").to_pylist(), first.column("offset").to_pylist(), strict=True)
    texts, calls = (labels_of(first, name) for name in ("source", "inlined_at"))
    described = zip(texts, map(_waits, stalls), calls, strict=True)
    return dict(zip(places, described, strict=True))


def _waits(stalls: Mapping[str, int]) -> Counter[str]:
    waits = Counter[str]()
    for reason, count in stalls.items():
        if reason not in READY:
            waits[STALLS_AS_SAMPLED.get(reason, reason)] += count
    return waits
