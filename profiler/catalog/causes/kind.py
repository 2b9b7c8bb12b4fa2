"""Says what is known of every cause, and which resources a change may leave as busy as they are."""

from __future__ import annotations

from dataclasses import dataclass

# The resources that a kernel needs whatever its code looks like: its arithmetic, and its data once from device memory.
WORK = ("dram", "fma", "tensor", "fp64", "xu")
# A local change, such as padding an array, leaves the instructions as well.
LOCAL = (*WORK, "issue", "alu")


@dataclass(frozen=True, kw_only=True)
class CauseKind:
    """One cause as documentation. `leaves` are the resources whose work a change of this kind does not reduce.

    A kernel cannot take less than the time that those resources need at their peak: the promise of `at_most`.
    """

    name: str
    group: str
    what: str
    detected: str
    example: str
    remedy: str
    leaves: tuple[str, ...] = ()
