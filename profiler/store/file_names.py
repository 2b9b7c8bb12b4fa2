"""How the files of a run are called, and whether a name that somebody else wrote is one of them.

A manifest, an index and a listing may come from anywhere, and what they name becomes a path of this machine. A name is
believed where it is one that prof gives; nothing else is joined to a folder.
"""

from __future__ import annotations

import re

from profiler.errors import RunDamaged
from profiler.store.reports.identity import COMPRESSED_SUFFIX, REPORT_SUFFIX

HASH_CHARACTERS = 12
_OWN = rf"(?:[0-9a-f]{{{HASH_CHARACTERS}}}-)?"  # of an upload that found its name taken
_REPORT = re.compile(rf"{_OWN}report(?:-[0-9]+)?(?P<suffix>{re.escape(REPORT_SUFFIX)}(?:\.zst)?)")
_TABLE = re.compile(rf"{_OWN}(?P<table>[a-z]+)\.parquet")
_SHA256 = re.compile(r"[0-9a-f]{64}")


def table_file(table: str) -> str:
    return f"{table}.parquet"


def report_file(process: int, processes: int) -> str:
    """Of one of the processes that were recorded; numbered where there are several."""
    return f"report{f'-{process}' if processes > 1 else ''}{COMPRESSED_SUFFIX}"


def own_name(file: str, sha256: str) -> str:
    """The name by its content that a file gets where its own is taken."""
    return f"{sha256[:HASH_CHARACTERS]}-{file}"


def is_table_file(file: str, table: str) -> bool:
    match = _TABLE.fullmatch(file)
    return match is not None and match["table"] == table


def is_report_file(file: str) -> bool:
    return _REPORT.fullmatch(file) is not None


def report_suffix(file: str) -> str:
    """What the name of a stored report ends in, which says whether it is compressed."""
    match = _REPORT.fullmatch(file)
    assert match is not None, file
    return match["suffix"]


def is_sha256(text: str) -> bool:
    return _SHA256.fullmatch(text) is not None


def stays_inside(name: str) -> bool:
    """Whether a relative name with forward slashes names something within the folder that it is joined to."""
    return "\0" not in name and all(part not in ("", ".", "..") for part in name.split("/"))


def inside(name: str) -> str:
    """The same name; RunDamaged where it leads out of the folder that it is to be joined to."""
    if not stays_inside(name):
        raise RunDamaged(f"{name!r}: a name that leads out of the runs")
    return name
