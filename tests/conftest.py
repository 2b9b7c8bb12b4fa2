"""What every room's tests may use: the shipped reports, a store of them, and the real `prof`."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from profiler.store.ingest import Options, ingest_reports
from profiler.store.runs import RunStore

REPORTS = Path(__file__).parent / "data" / "reports"

Prof = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="session")
def reports() -> Path:
    """The folder of shipped reports; never write to it."""
    return REPORTS


@pytest.fixture(scope="session")
def store(tmp_path_factory: pytest.TempPathFactory) -> RunStore:
    """Every shipped report, ingested once; never change it."""
    store = RunStore(tmp_path_factory.mktemp("store") / "runs")
    outcomes = list(ingest_reports(sorted(REPORTS.glob("*.ncu-rep")), store, Options()))
    assert [one.status for one in outcomes] == ["stored"] * len(outcomes)
    return store


@pytest.fixture(scope="session")
def prof() -> Prof:
    """`prof(*arguments)` runs the command in a process of its own and returns what it printed."""

    def run(*arguments: object, **options: object) -> subprocess.CompletedProcess[str]:
        command = prof_command(*arguments)
        return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, **options)

    return run


def prof_command(*arguments: object) -> list[str]:
    """The command that a shell would run, by this interpreter whatever the PATH says."""
    start = "from profiler.cli import main; main()"
    return [sys.executable, "-c", start, *(os.fspath(a) if isinstance(a, Path) else str(a) for a in arguments)]
