"""The names of the files of a run, and of reports.

A manifest, a pack's index and a listing may come from anywhere, and their names become paths of this machine. So prof
accepts only names that it gives itself, and joins nothing else to a folder.
"""

from __future__ import annotations

import re
from pathlib import Path

HASH_CHARACTERS = 12  # as many of a SHA-256 as names have
MANIFEST_FILE = "run.json"
REPORT_SUFFIX = ".ncu-rep"
COMPRESSED_SUFFIX = ".ncu-rep.zst"
REPORT_SUFFIXES = (REPORT_SUFFIX, COMPRESSED_SUFFIX)
_OWN = rf"(?:[0-9a-f]{{{HASH_CHARACTERS}}}-)?"  # see `own_name`
_REPORT = re.compile(rf"{_OWN}report(?:-[0-9]+)?{re.escape(COMPRESSED_SUFFIX)}")
_TABLE = re.compile(rf"{_OWN}(?P<table>[a-z]+)\.parquet")


def table_file(table: str) -> str:
    return f"{table}.parquet"


def report_file(process: int, processes: int) -> str:
    """Returns the name of one process's report, numbered when there are several."""
    return f"report{f'-{process}' if processes > 1 else ''}{COMPRESSED_SUFFIX}"


def own_name(file: str, sha256: str) -> str:
    """Returns the name, made from its content, that an uploaded file gets when its own is taken."""
    return f"{sha256[:HASH_CHARACTERS]}-{file}"


def is_table_file(file: str, table: str) -> bool:
    match = _TABLE.fullmatch(file)
    return match is not None and match["table"] == table


def is_report_file(file: str) -> bool:
    return _REPORT.fullmatch(file) is not None


def holds_run(folder: Path) -> bool:
    """Returns whether a folder of this machine is a run."""
    return (folder / MANIFEST_FILE).exists()
