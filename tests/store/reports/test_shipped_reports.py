"""The published reports say nothing about whoever recorded them."""

from pathlib import Path

import pytest

from profiler.store.reports.privacy import find_home_directories

ROOT = Path(__file__).parents[3]
SHIPPED = sorted([*ROOT.glob("tests/data/reports/*.ncu-rep"), *ROOT.glob("runs/*/report*.ncu-rep.zst")])


@pytest.mark.slow
def test_no_shipped_report_embeds_a_home_directory():
    homes = {str(path.relative_to(ROOT)): find_home_directories(path) for path in SHIPPED}
    assert {path: found for path, found in homes.items() if found} == {}


def test_both_places_that_ship_reports_were_looked_at():
    assert {path.relative_to(ROOT).parts[0] for path in SHIPPED} == {"tests", "runs"}
