"""Evidence about made-up machine code: what was executed, how warps waited, and how the kernel was launched."""

from collections import Counter
from pathlib import Path

from msgspec import structs

from profiler.analyse.causes.evidence.blame import charge
from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.latency import WarpSlots
from profiler.analyse.causes.evidence.sites import Site
from profiler.analyse.causes.evidence.time_model import TimeModel
from profiler.analyse.code.code import Code, Instruction
from profiler.analyse.code.registers import uses_in
from profiler.analyse.recording.launch_shapes import LaunchShape
from profiler.analyse.recording.profile import Profile
from profiler.store.runs.run import Run
from profiler.store.tables.instruction_text import opcode_of
from profiler.store.tables.schema import TABLES, arrow_schema

LOAD = "LDG.E R4, [R2.64]"
LOOP = "@P0 BRA 0x10"
# Of a loop whose turns follow from each other: each stores the value that the next one starts from.
NEXT, STORED, FORWARD = "FFMA R7, R4, R7, R8", "STG.E [R10.64], R7", "IADD3 R10, R10, 0x4, RZ"
# Of 100 loads of 4 bytes by 32 lanes, the sectors that they touch and those that their data would fill.
TOGETHER, APART = ({"sectors": touched, "ideal_sectors": 400.0} for touched in (400.0, 3200.0))
MADE_RUN = Run(Path("made"), None, _tables={name: arrow_schema(name).empty_table() for name in TABLES})
BUSY = {"issue": 0.2, "dram": 0.1, "l1": 0.1, "l2": 0.1, "lsu": 0.1, "fma": 0.1, "alu": 0.1}


def code_of(*lines, file="made.cu", line=None):
    """`code_of("LDG.E R4, [R2.64]", ("FADD R5, R5, R4", 800))`: 16 bytes each; 100 executions, where none are given.

    All are on the same source `line`, or else each on its own.
    """
    texts = [(one, 100.0) if isinstance(one, str) else one for one in lines]
    return Code(
        (
            tuple(
                Instruction(16 * index, opcode_of(text), text, executed, file=file, line=line or index + 1)
                for index, (text, executed) in enumerate(texts)
            ),
        ),
        launches=1,
        like=1,
    )


def executing(times, *lines):
    """Each of these lines so many times, as in a loop."""
    return [(line, times) for line in lines]


def active(lanes, *, of=None):
    """The facts of an instruction in which so many lanes of a warp act, `of` those that are there."""
    return {"lanes": lanes if of is None else of, "acting": lanes}


def sites_of(code, facts=None):
    """`facts` are those of an instruction by its place in the code: `{1: {"waits": {"long_scoreboard": 9}}}`."""
    sites = []
    function = code.functions[0]
    for place, (instruction, use) in enumerate(zip(function, uses_in(function), strict=True)):
        sites.append(Site(instruction, 0, place, use))
        for name, value in (facts or {}).get(place, {}).items():
            setattr(sites[-1], name, value)
    return tuple(sites)


def evidence_of(
    *lines, facts=None, each=None, busy=None, waits=None, figures=None,
    grid=1000, block=256, file="made.cu", line=None, warp_slots=None,
):  # fmt: skip
    """Returns evidence with the waiting of `waits`, charged as the samples in `facts` are; what `each` instruction has stands once."""
    code = code_of(*lines, file=file, line=line)
    of_each = {place: each or {} for place in range(len(lines))}
    sites = sites_of(
        code, {place: of_each.get(place, {}) | one for place, one in {**of_each, **(facts or {})}.items()}
    )
    blocks, threads = (one if isinstance(one, tuple) else (one, 1, 1) for one in (grid, block))
    shape = LaunchShape(blocks, threads, None, None, 1)
    profile = Profile("made", "k", MADE_RUN, "NVIDIA H200", {}, {}, shapes=[shape], numbers=(0,))
    vars(profile)["code"] = code  # what is otherwise read from a run
    charged = charge(code, sites)
    total = sum((Counter(site.waits) for site in sites), Counter[str]())
    sampled = {reason: count / total.total() for reason, count in total.items()}
    return Evidence(
        profile=profile,
        figures=figures or {},
        sites=sites,
        charged=charged,
        model=TimeModel(
            BUSY | (busy or {}), sampled if waits is None else waits, warp_slots=warp_slots or WarpSlots()
        ),
        has_samples=True,
        has_costs=True,
    )


def change_instruction(site, **fields):
    site.instruction = structs.replace(site.instruction, **fields)


def load_with(sectors, opcode="LDG.E", **more):
    """One load, executed 100 times, that touches so many sectors each time; 4 are what its lanes' 4 bytes fill."""
    facts = {"sectors": 100 * sectors, "ideal_sectors": 400.0, "waits": {"long_scoreboard": 50}} | more
    return evidence_of(f"{opcode} R4, [R2.64]", "EXIT", facts={0: facts})


def names(detect, evidence):
    return [candidate.name for candidate in detect(evidence)]
