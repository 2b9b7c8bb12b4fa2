"""A made-up ladder of four rungs, and runs of them in a folder."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from profiler.catalog.ladders.ladder import Ladder
from profiler.catalog.ladders.ladder_file import read_ladder
from profiler.store.reports.request import Timing
from profiler.store.runs.manifest import Provenance
from profiler.store.runs.run_store import RunStore
from profiler.store.runs.timed_run import TimedRun, commit_timings

_LADDER = """
title = "Made up"
reference = 0
command = ["program"]
flops = "2 * m"
bytes = "8 * m"

[workload]
m = 4096
"""
_KERNEL = """
[[kernel]]
number = {number}
name = "rung_{number}"
idea = "idea {number}"
regex = "kernel_{number}"
"""


@pytest.fixture(scope="session")
def made_ladder(tmp_path_factory: pytest.TempPathFactory) -> Ladder:
    """Rungs 0 to 3; 0 is the reference, and a launch makes `2 * m` operations."""
    path = tmp_path_factory.mktemp("ladder") / "made" / "ladder.toml"
    path.parent.mkdir()
    path.write_text(_LADDER + "".join(_KERNEL.format(number=number) for number in range(4)))
    return read_ladder(path)


class MadeStore:
    """Fills a folder of runs; every run is a second newer than the one before."""

    def __init__(
        self, root: Path, make_run: Callable[..., Any], date: Callable[[Path, int], str], second: int = 0
    ) -> None:
        self.store = RunStore(root)
        self._make_run = make_run
        self._date = date
        self._second = second

    def profile(self, name: str, *durations: float, kernel: str = "kernel", **fields: Any) -> str:
        """A profiled run of these durations; `counters` by ncu's name and `opcodes` are the same in every launch."""
        counters, opcodes = fields.pop("counters", {}), fields.pop("opcodes", {})
        launches = [
            {
                "kernel": kernel,
                "opcodes": opcodes,
                "metrics": {"gpu__time_duration.sum": (ns, "ns"), **counters},
            }
            for ns in durations
        ]
        run = self._make_run(*launches, name=name, root=self.store.root, **fields)
        return self._dated(run.path)

    def time(self, ladder: str, number: int, *durations: float, **fields: Any) -> str:
        """A run of timings alone, of so many `processes`; the reference beside each took `reference_ns`."""
        repeats = len(durations) // fields.pop("processes", 1)
        reference_ns, workload = fields.pop("reference_ns", None), fields.pop("workload", {"m": 4096})
        timings = [
            Timing(place // repeats, place % repeats, ns, reference_ns) for place, ns in enumerate(durations)
        ]
        timed = TimedRun(
            ladder, number, workload, datetime(2026, 1, 1, tzinfo=UTC), "NVIDIA H200", "",
            Provenance(**fields), timings,
        )  # fmt: skip
        (run_id,) = commit_timings(self.store, [timed])
        return self._dated(self.store.root / run_id)

    def _dated(self, folder: Path) -> str:
        self._second += 1
        return self._date(folder, self._second)


@pytest.fixture
def made(tmp_path: Path, make_run: Callable[..., Any], dated: Callable[[Path, int], str]) -> MadeStore:
    return MadeStore(tmp_path / "runs", make_run, dated)


@pytest.fixture
def made_elsewhere(
    tmp_path: Path, make_run: Callable[..., Any], dated: Callable[[Path, int], str]
) -> MadeStore:
    """A second folder, for a baseline: what is recorded there is not what is recorded in the other."""
    return MadeStore(tmp_path / "elsewhere", make_run, dated, second=100)
