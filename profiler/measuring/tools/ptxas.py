"""Reads what `ptxas -v` prints for each kernel: registers, shared memory and spills.

In: the compiler's messages. Out: one `Resources` for every entry function.
"""

from __future__ import annotations

import re

from msgspec import Struct

_ENTRY = re.compile(r"Compiling entry function '(?P<function>[^']+)' for '(?P<target>[^']+)'")
_SPILLS = re.compile(
    r"(?P<stack>\d+) bytes stack frame, (?P<stores>\d+) bytes spill stores, (?P<loads>\d+) bytes spill loads"
)
_USED = re.compile(r"Used (?P<registers>\d+) registers")
_SHARED = re.compile(r"(?P<bytes>\d+)(?:\+\d+)? bytes smem")


class Resources(Struct, frozen=True):
    """The compiler's figures for one kernel."""

    function: str  # mangled
    target: str
    registers: int
    shared_bytes: int
    stack_bytes: int
    spill_store_bytes: int
    spill_load_bytes: int

    @property
    def spills(self) -> bool:
        return bool(self.spill_store_bytes or self.spill_load_bytes)


def parse_resources(messages: str) -> list[Resources]:
    """Returns the figures of every kernel in the messages, in their order."""
    found: list[Resources] = []
    entry = spills = None
    for line in messages.splitlines():
        entry = _ENTRY.search(line) or entry
        spills = _SPILLS.search(line) or spills
        used = _USED.search(line)
        if not used or not entry or not spills:
            continue
        shared = _SHARED.search(line)
        found.append(
            Resources(
                function=entry["function"],
                target=entry["target"],
                registers=int(used["registers"]),
                shared_bytes=int(shared["bytes"]) if shared else 0,
                stack_bytes=int(spills["stack"]),
                spill_store_bytes=int(spills["stores"]),
                spill_load_bytes=int(spills["loads"]),
            )
        )
        entry = spills = None
    return found
