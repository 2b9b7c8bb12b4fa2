"""Reads the address in the text of an access: its registers, and what is added to them."""

from __future__ import annotations

import re

from profiler.analyse.causes.evidence.sites import Site

_ADDED = re.compile(r"\+(-?0x[0-9a-f]+)\]")
_OFFSET = re.compile(r"\+-?0x|\](?!\[)|$")  # of an address, after its registers, or their end


def address_of(site: Site) -> str:
    """Returns what stands between the brackets: the same text is the same address while its registers stay."""
    return site.instruction.text.partition("[")[2].rpartition("]")[0]


def base_of(site: Site) -> object:
    """Returns the registers of an address, without its offset: accesses with the same base are neighbours."""
    return site.kind, _OFFSET.split(site.instruction.text.partition("[")[2])[0]


def offset_of(site: Site) -> int:
    """Returns the bytes that are added to the registers of an address."""
    found = _ADDED.search(site.instruction.text)
    return int(found.group(1), 16) if found else 0
