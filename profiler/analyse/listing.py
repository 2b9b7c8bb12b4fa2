"""The stored runs: the kernels of a ladder, and the newest run of each name or every run that a name means."""

from __future__ import annotations

from typing import Annotated

from msgspec import Struct

from profiler.analyse.findings import SCHEMA_VERSION, LeftOut
from profiler.analyse.importance import Importance

NAMES_HEADER = ("name", "runs", "recorded", "launches", "gpu", "ncu", "origin", "run_id")
RUNS_HEADER = ("name", "workload", *NAMES_HEADER[2:])
OVERVIEW_HEADER = ("ladder", "kernels", "runs", "newest", "gpu", "title")
LADDER_HEADER = ("kernel", "name", "profiled", "timed", "tuned", "idea")
DAMAGED, UNREADABLE = "damaged", "unreadable"


class Listing(Struct, frozen=True):
    """A ladder's kernels, and the stored runs: the newest of each name, or every run that fits a name."""

    ladder: str | None
    kernels: Annotated[list[dict[str, str | int]], Importance(99, each=2)]
    runs: Annotated[
        list[dict[str, str | int]],
        Importance(
            100, each=2, by=lambda run, *_: str(run["recorded"]), largest_first=True, keeps_order=True
        ),
    ]
    reports: Annotated[list[str], Importance(97, each=2)] = []  # files that an agent may name, newest first
    damaged: Annotated[list[str], Importance(98)] = []  # a line for each damaged run or pack
    schema_version: int = SCHEMA_VERSION
    left_out: LeftOut = {}


class StoreOverview(Struct, frozen=True):
    """Sums up what is stored: a row for each ladder that has runs, and a row for each name that belongs to no ladder."""

    ladders: list[dict[str, str | int]]
    others: list[dict[str, str | int]]
