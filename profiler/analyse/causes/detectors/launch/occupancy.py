"""Detects what limits the number of warps on an SM, if more of them would hide waiting."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from profiler.analyse.causes.detectors.candidate import ENOUGH_THREADS, Candidate
from profiler.analyse.causes.detectors.instructions.compilation import has_spills
from profiler.analyse.causes.detectors.sharing_out import share_out
from profiler.analyse.causes.evidence.blocks_of_sm import (
    MOST_REGISTERS,
    REGISTERS_AT_ONCE,
    blocks_with,
    find_occupancy_limits,
)
from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.latency import LAUNCH, Effect
from profiler.analyse.causes.evidence.loads_under_way import find_lonely_loads
from profiler.analyse.code.loops import Loop
from profiler.text import counted, whole_percent

# No block has more threads (CUDA C++ Programming Guide, "Technical Specifications per Compute Capability").
_MOST_THREADS = 1024
# Two limits depend on the size of a block, and another size changes both.
_OF_BLOCK_SIZE = ("block-too-small", "block-size-limits-occupancy")
# The part of a thread's registers that the compiler can surely do without, if it is asked to. It makes the kernel of
# tests/data/reports/gemm_5.ncu-rep with 131 registers, and with 96, a quarter less, still without a spill (nvcc 13.0, sm_90).
_FEW_REGISTERS = 1 / 16
# With fewer registers, it computes more values anew, which pays if there are half as many warps again.
_MANY_WARPS = 1.5


def detect_occupancy(evidence: Evidence) -> Iterable[Candidate]:
    """Names what limits the warps of an SM, if more of them would hide waiting."""
    limit = evidence.find("occupancy_limit_pct")
    if not limit or limit >= 100:
        return
    known = find_occupancy_limits(evidence)
    if not known:
        return
    name = min(known, key=lambda one: known[one])
    if name == "registers-limit-occupancy":
        if _holds_too_much(evidence):
            return
        if close := _find_close_limit(evidence, known):
            yield _with_few_registers_less(evidence, known[name], *close)
            return
        if _holds_sums(evidence):
            return
    value, is_small = _limit_figure(evidence, name), name == "block-too-small"
    what = _LIMITS[name].text.format(value)
    if name in _OF_BLOCK_SIZE and value == 1:
        what = "blocks of one thread"
    yield Candidate(
        name,
        f"With {what}, an SM holds {whole_percent(limit)} % of the warps that it could.",
        (share_out(evidence) if is_small else "") or _advise(evidence, name),
        _with_more_warps(evidence, known, name),
        evidence={"occupancy_limit_pct": limit, "blocks_an_sm": known[name], _LIMITS[name].figure: value},
        # Blocks of a few threads become parts of full warps.
        regrouped=evidence.without_idle_lanes() if is_small else {},
    )


def _advise(evidence: Evidence, name: str) -> str:
    """Returns the advice on a limit; without more threads if a block has the most already."""
    is_full = evidence.shape is not None and evidence.shape.threads >= _MOST_THREADS
    more_threads = "" if is_full else ", or more threads for the same tile"
    return _LIMITS[name].advice.format(limit=evidence.words.limit_registers, more_threads=more_threads)


def _holds_too_much(evidence: Evidence) -> bool:
    """Returns whether the values of a thread do not fit into the most registers that one can have.

    A limit of fewer registers would spill more of them. A thread with fewer values needs fewer registers, and spills none: one
    change removes both causes.
    """
    return (evidence.find("registers") or 0.0) >= MOST_REGISTERS and has_spills(evidence)


def _find_close_limit(evidence: Evidence, limits: Mapping[str, float]) -> tuple[int, int] | None:
    """Returns a slightly smaller number of registers with which an SM would hold many more warps, and its blocks then; None if there is none."""
    registers, now = evidence.find("registers"), limits["registers-limit-occupancy"]
    if not registers or evidence.shape is None or blocks_with(registers, evidence.shape) != now:
        return None
    fewer = REGISTERS_AT_ONCE * math.ceil(registers * (1 - _FEW_REGISTERS) / REGISTERS_AT_ONCE)
    others = {**limits, "registers-limit-occupancy": blocks_with(fewer, evidence.shape)}
    blocks = int(min(others.values()))
    return (fewer, blocks) if min(blocks / now, evidence.find("waves") or 1.0) >= _MANY_WARPS else None


def _with_few_registers_less(evidence: Evidence, now: float, fewer: int, blocks: int) -> Candidate:
    """Returns the cause if a few registers less are enough, with which a thread keeps its sums and the loads that it has under way."""
    registers, limit = evidence.find("registers") or 0.0, evidence.find("occupancy_limit_pct") or 0.0
    threads = evidence.shape.threads if evidence.shape else 0
    return Candidate(
        "registers-limit-occupancy",
        f"With {registers:.0f} registers a thread, an SM has room for {counted(int(now), 'block', 'blocks')}, {whole_percent(limit)} % of "
        f"the warps that it could hold. With {fewer}, it has room for {blocks}.",
        f"Limit a thread to {fewer} registers, {registers - fewer:.0f} fewer than now ({evidence.words.limit_registers_anyhow}): then an SM holds "
        f"{blocks} blocks of {threads} threads, and the compiler rarely needs to spill.",
        Effect(warps=min(blocks / now, evidence.find("waves") or 1.0)),
        evidence={"occupancy_limit_pct": limit, "blocks_an_sm": now, "registers": registers},
        in_triton=f"Limit a thread to {fewer} registers (`maxnreg={fewer}`): then an SM holds {blocks} programs, and the compiler rarely needs to spill.",
    )


def _holds_sums(evidence: Evidence) -> bool:
    """Returns whether over half of a thread's registers hold sums that loops go on adding to, such as of a tile.

    Such a thread cannot use fewer registers: with a smaller tile, more threads would load each value.
    """
    sums: dict[Loop, set[str]] = {}
    for site in evidence.of("fp32", "fp64", "tensor"):
        loop = evidence.innermost_loop(site)
        if loop and not site.use.only_written:
            sums.setdefault(loop, set()).update(site.use.written)
    return 2 * max(map(len, sums.values()), default=0) > (evidence.find("registers") or 0.0)


def _with_more_warps(evidence: Evidence, limits: Mapping[str, float], name: str) -> Effect:
    """Returns the effect of as many warps as the next limit allows, and the grid has."""
    threads = evidence.shape.threads if evidence.shape else ENOUGH_THREADS
    of_size = name in _OF_BLOCK_SIZE
    next_limits = [
        blocks for one, blocks in limits.items() if one != name and not (of_size and one in _OF_BLOCK_SIZE)
    ]
    full = 100 * limits[name] / (evidence.find("occupancy_limit_pct") or 100.0)
    more = max(0.0, min(min([full, *next_limits]) / limits[name], evidence.find("waves") or 1.0) - 1)
    if name == "registers-limit-occupancy":
        more *= _waiting_alone(evidence)
    fewer_blocks = max(0.0, 1 - threads / ENOUGH_THREADS) if name == "block-too-small" else 0.0
    return Effect({LAUNCH: fewer_blocks}, warps=1 + more)


def _waiting_alone(evidence: Evidence) -> float:
    """Returns the part of the waiting in which a warp has few loads under way, and nothing else.

    Registers hold the loads that a warp has under way. With fewer registers, more warps share out these loads. They add loads
    only where there are few.
    """
    waiting = 1 - evidence.model.issuing - evidence.model.ready
    alone = evidence.time_of(find_lonely_loads(evidence), "long_scoreboard")
    return min(1.0, alone / waiting) if waiting > 0 else 0.0


class _Limit(NamedTuple):
    figure: str
    text: str
    advice: str


_LIMITS = {
    "registers-limit-occupancy": _Limit(
        "registers",
        "{:.0f} registers a thread",
        "Use fewer registers ({limit}, a smaller tile for each thread), or overlap more work in each thread.",
    ),
    "shared-memory-limits-occupancy": _Limit(
        "shared_bytes",
        "{:,.0f} bytes of shared memory a block",
        "Use a smaller tile or a narrower type in shared memory{more_threads}.",
    ),
    "block-too-small": _Limit(
        "threads_a_block",
        "blocks of {:.0f} threads",
        "Use blocks of 128 to 256 threads. A block that has one piece of work now (a row, a tile) then takes several, such as one for each warp.",
    ),
    "block-size-limits-occupancy": _Limit(
        "threads_a_block",
        "blocks of {:.0f} threads",
        "Choose a block size that divides the warps of an SM, such as 256 threads.",
    ),
}


def _limit_figure(evidence: Evidence, name: str) -> float:
    if name in _OF_BLOCK_SIZE:
        return float(evidence.shape.threads) if evidence.shape else 0.0
    return evidence.find(_LIMITS[name].figure) or 0.0
