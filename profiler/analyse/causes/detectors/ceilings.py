"""Detects kernels that are as fast as a resource allows: they can only gain by needing less of it."""

from __future__ import annotations

from collections.abc import Iterable

from profiler.analyse.causes.detectors.candidate import Candidate
from profiler.analyse.causes.detectors.launch.grid import find_unfilled
from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.latency import ISSUE
from profiler.analyse.causes.evidence.measured_time import USED
from profiler.analyse.causes.evidence.tensor_work import avoidable_part
from profiler.analyse.causes.evidence.time_model import AT_MEMORY, BOTH_WAYS, ONE_WAY
from profiler.catalog.causes import BY_NAME
from profiler.catalog.causes.ceilings import LESS_TO_MULTIPLY, OTHERWISE_LESS
from profiler.text import number, unit_for_people, whole_percent

# A scheduler issues one instruction a cycle, so that a pipe at 75 % leaves at most a quarter for everything else.
_AT_PIPE = 0.75
_CEILINGS = (
    ("at-memory-bandwidth", "dram", AT_MEMORY, "Device memory"),
    ("at-tensor-rate", "tensor", _AT_PIPE, "The tensor pipe"),
    ("at-fma-rate", "fma", _AT_PIPE, "The FMA pipe"),
    ("at-fma-rate", "fma_heavy", _AT_PIPE, "The half of the FMA pipe that multiplies integers"),
    ("at-alu-rate", "alu", _AT_PIPE, "The ALU pipe"),
    ("at-xu-rate", "xu", _AT_PIPE, "The special-function unit"),
    ("at-l2-bandwidth", "l2", AT_MEMORY, "L2"),
)
# What to try where the remedy of the cause is about another part of the unit, or about other kernels.
_REMEDIES = {
    "tensor": LESS_TO_MULTIPLY,
    "fma_heavy": "Do less arithmetic with integers, or pack several narrow values into one word.",
}
_WGMMA_IN_TRITON = f"Let `tl.dot` multiply by `wgmma`: with 4 `num_warps` or 8, and 64 rows of the result or more (BLOCK_M). {OTHERWISE_LESS}"
_UNSEEN = " The recording does not say whether all bytes that move are used, nor whether blocks could share those that move again and again."


def detect_ceilings(evidence: Evidence) -> Iterable[Candidate]:
    """Names the resource that is used as far as it can be; of several, the first of the list."""
    used = evidence.model.busy
    for name, resource, enough, what in _CEILINGS:
        busy = used.get(resource, 0.0)
        # While rounds of blocks are full, a pipe may be at its rate, although it idles in the last round.
        unfilled = find_unfilled(evidence) if enough == _AT_PIPE and busy < enough else 0.0
        # If the mix is not recorded, less may be within reach than for reads alone.
        mixed = resource == "dram" and busy < enough and not _mix_is_known(evidence)
        while_full = busy / (1 - unfilled)
        if while_full < enough * (BOTH_WAYS / ONE_WAY if mixed else 1.0):
            continue
        # Uncoalesced accesses fill L2 as well. Only recorded accesses show whether there are any.
        if resource == "l2" and not (evidence.sites and evidence.model.l2_is_full):
            continue
        # Uncoalesced accesses use only a part of the bytes that move. Only recorded accesses show that.
        unseen = resource == "dram" and not evidence.sites
        taken = _taken(evidence, resource, busy)
        as_wgmma = _taken_as_wgmma(evidence, busy) if resource == "tensor" else busy
        said, figures = _say(evidence, resource, what, busy, taken, mixed, as_wgmma)
        advice = _REMEDIES.get(resource) or BY_NAME[name].remedy
        # Triton's own words for this cause advise tensor cores. These multiply floats, so integers keep the advice for CUDA.
        in_triton = advice if resource == "fma_heavy" else ""
        if as_wgmma < busy:
            advice = f"Multiply {evidence.words.by_wgmma}, as the kernels of cuBLAS and CUTLASS for this GPU do. {OTHERWISE_LESS}"
            in_triton = _WGMMA_IN_TRITON
        yield Candidate(
            name,
            said
            + (
                f" While rounds of blocks are full, it is at {whole_percent(100 * while_full)} %."
                if unfilled
                else ""
            ),
            f"{advice}{_UNSEEN if unseen else ''}",
            evidence=figures,
            saves=0.0,
            # Its own work stays. The other instructions that take its cycles may go, however many they are now.
            at_most=1 - as_wgmma,
            resource=resource,
            in_triton=in_triton,
        )
        return


def _taken(evidence: Evidence, resource: str, busy: float) -> float:
    """Returns the part of the time in which the resource can take no other work of this kernel.

    That is its use, as a part of what is within reach. Each instruction of the FMA pipe also takes a cycle of the scheduler, in
    which it issues no other one. An instruction of the tensor pipe takes many cycles of its pipe and only one of the scheduler,
    which has time for others.
    """
    return max(busy, evidence.model.busy.get(ISSUE, 0.0)) if resource == "fma" else busy


def _taken_as_wgmma(evidence: Evidence, busy: float) -> float:
    """Returns how long the tensor pipe would be busy if it multiplied everything by `wgmma`.

    Where the GPU has `wgmma`, `mma.sync` takes longer for the same products.
    """
    return busy * (1 - avoidable_part(evidence.of("tensor"), evidence.profile.compute_capability))


def _mix_is_known(evidence: Evidence) -> bool:
    """Returns whether the mix of reads and writes of device memory is recorded. It decides how much of the peak is within reach."""
    return bool(evidence.find("dram_bytes_read") or evidence.find("dram_bytes_written"))


def _used_of_unknown_mix(busy: float) -> tuple[str, dict[str, float]]:
    used, least, most = 100 * busy * ONE_WAY, 100 * BOTH_WAYS, 100 * ONE_WAY
    text = (
        f"at {whole_percent(used)} % of its peak, and {whole_percent(least)} to {whole_percent(most)} % are within reach, depending on how reads and "
        "writes mix, which is not recorded"
    )
    return text, {USED["dram"]: used, "dram_reachable_least_pct": least, "dram_reachable_pct": most}


def _say(
    evidence: Evidence,
    resource: str,
    what: str,
    busy: float,
    taken: float,
    mixed: bool,
    as_wgmma: float,
) -> tuple[str, dict[str, float]]:
    """Returns how much of the resource is used and for how long its work keeps it, in words and as figures.

    `taken` exceeds `busy` if other instructions take cycles of the resource. `as_wgmma` is less than `busy` if `wgmma` would make
    the same products in less time.
    """
    is_at, figures = _used_of_unknown_mix(busy) if mixed else _used(evidence, resource, taken)
    figures = {f"{resource}_of_reachable_pct": 100 * taken, **figures}
    still = f"{'at least ' if mixed else ''}{whole_percent(100 * taken)} % of the time"
    if taken > busy:
        alone = f"those of {what.replace('The ', 'the ')} alone {whole_percent(100 * busy)} %"
        return (
            f"{what} is {is_at} beside its other instructions: the same instructions would still take {still}, and {alone}.",
            figures,
        )
    if as_wgmma < busy:
        return (
            f"{what} is {is_at}: the same instructions would still take {still}, and the same products by `wgmma` {whole_percent(100 * as_wgmma)} %.",
            figures,
        )
    # Another kernel with the same results may move fewer bytes.
    same = "to move as many bytes" if resource == "dram" else "the same work"
    return f"{what} is {is_at}: {same} would still take {still}.", figures


def _used(evidence: Evidence, resource: str, taken: float) -> tuple[str, dict[str, float]]:
    """Returns how much of the resource is used and how much is within reach, in words and as figures.

    `taken` is the part of the time in which it can take no other work.
    """
    if resource == "dram" and (rate := evidence.find("dram_bytes_per_s")):
        reach = rate / taken
        divisor, unit = unit_for_people("byte/s", reach)
        text = f"at {number(rate / divisor)} {unit}, and {number(reach / divisor)} {unit} are within reach"
        return text, {"dram_bytes_per_s": rate, "dram_reachable_bytes_per_s": reach}
    used = evidence.find(USED[resource]) if resource in USED else None
    if used is None:
        return f"used to {whole_percent(100 * taken)} % of what is within reach", {}
    text = f"at {whole_percent(used)} % of its peak, and {whole_percent(used / taken)} % are within reach"
    return text, {USED[resource]: used, f"{resource}_reachable_pct": used / taken}
