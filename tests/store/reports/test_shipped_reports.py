"""What is published says nothing about whoever recorded it."""

from __future__ import annotations

from pathlib import Path

import pytest

from profiler.store.reports.privacy import find_home_directories

ROOT = Path(__file__).parents[3]
SHIPPED = sorted([*ROOT.glob("tests/data/reports/*.ncu-rep"), *ROOT.glob("runs/*/report*.ncu-rep.zst")])


@pytest.mark.parametrize("report", SHIPPED, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_shipped_report_embeds_a_home_directory(report: Path) -> None:
    assert find_home_directories(report) == []


def test_both_places_that_ship_reports_were_looked_at() -> None:
    assert {path.relative_to(ROOT).parts[0] for path in SHIPPED} == {"tests", "runs"}
