"""Reads NVIDIA's rules in a report as a witness: which causes they mean, and what they expect of a change.

They decide nothing. If a rule supports a cause that was found here, the cause's evidence says so.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from profiler.store.runs.run import Run
from profiler.store.tables.columns import rows_labelled

# The causes that a rule stands for, by its identifier and the start of its title. If it fits several causes, any of them counts.
# Rules that only observe (low utilisation, idle issue slots, compression of L2) name nothing that can be changed: they are left
# out, and take no rank. FPInstructions asks for fused arithmetic, which removes instructions.
_RULES: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("UncoalescedGlobalAccess", "", ("uncoalesced-loads", "uncoalesced-stores", "misaligned-accesses")),
    ("MemoryCacheAccessPattern", "L1TEX Global Load", ("uncoalesced-loads", "misaligned-accesses")),
    ("MemoryCacheAccessPattern", "L2 Global Load", ("uncoalesced-loads", "misaligned-accesses")),
    ("MemoryCacheAccessPattern", "L1TEX Global Store", ("uncoalesced-stores", "misaligned-accesses")),
    ("MemoryCacheAccessPattern", "L2 Global Store", ("uncoalesced-stores", "misaligned-accesses")),
    ("MemoryCacheAccessPattern", "L1TEX Local", ("register-spills",)),
    ("MemoryCacheAccessPattern", "L2 Local", ("register-spills",)),
    ("UncoalescedSharedAccess", "", ("bank-conflicts",)),
    ("SharedMemoryConflicts", "", ("bank-conflicts",)),
    ("ThreadDivergence", "", ("divergent-branches", "idle-lanes")),
    ("FPInstructions", "", ("redundant-instructions",)),
    ("SOLFPRoofline", "", ("fp64-arithmetic",)),
    ("LaunchConfiguration", "Small Grid", ("grid-too-small",)),
    ("SOLBottleneck", "Small Grid", ("grid-too-small",)),
    ("LaunchConfiguration", "Tail Effect", ("uneven-last-wave",)),
    ("LaunchConfiguration", "Block Size", ("idle-lanes", "block-too-small")),
    ("WorkloadImbalance", "SM", ("load-imbalance",)),
    ("AchievedOccupancy", "", ("load-imbalance",)),
    ("CPIStall", "Barrier", ("barriers",)),
    ("CPIStall", "Long Scoreboard", ("loads-not-overlapped", "redundant-global-loads")),
    ("CPIStall", "Short Scoreboard", ("redundant-shared-accesses", "too-little-reuse")),
    ("CPIStall", "Mio Throttle", ("redundant-shared-accesses", "too-little-reuse", "special-functions")),
    ("CPIStall", "Lg Throttle", ("narrow-accesses", "redundant-global-loads")),
    ("CPIStall", "Wait", ("dependent-chain",)),
    ("CPIStall", "No Instruction", ("instruction-cache-misses",)),
    ("CPIStall", "Branch Resolving", ("divergent-branches", "loop-overhead")),
    ("CPIStall", "Drain", ("uncoalesced-stores", "narrow-accesses")),
)  # fmt: skip
# What limits the occupancy is in the text of the rule alone.
_LIMITS = {
    "required amount of shared memory": "shared-memory-limits-occupancy",
    "number of required registers": "registers-limit-occupancy",
    "number of blocks": "block-too-small",
    "number of warps": "block-size-limits-occupancy",
}


def causes_of_rule(row: Mapping[str, Any]) -> tuple[str, ...]:
    """Returns the causes that a row of the table of rules means; none for a rule that names nothing to change."""
    if row["kind"] != "optimization" or not row["name"]:
        return ()
    if row["rule"] == "TheoreticalOccupancy":
        return tuple(cause for words, cause in _LIMITS.items() if words in row["message"])
    found = (
        causes
        for rule, title, causes in _RULES
        if row["rule"] == rule and (row["title"] or "").startswith(title)
    )
    return next(found, ())


def find_estimates(run: Run, launches: Collection[int]) -> dict[str, float]:
    """Returns for each cause the largest speedup of the kernel, in percent, that a rule with that meaning estimates."""
    found: dict[str, float] = {}
    for row in rows_labelled(run.table("rules"), "speedup_kind", frozenset({"global"})).to_pylist():
        if row["launch"] in launches and row["speedup_pct"]:
            for cause in causes_of_rule(row):
                found[cause] = max(found.get(cause, 0.0), row["speedup_pct"])
    return found
