"""NVIDIA's rules as a witness beside the causes."""

import pytest

from profiler.analyse.causes.nvidia_rules import causes_of_rule
from profiler.catalog.causes import BY_NAME

ROW = {"kind": "optimization", "name": "A rule", "rule": "", "title": None, "message": ""}


@pytest.mark.parametrize(
    ("row", "causes"),
    [
        ({"rule": "SharedMemoryConflicts", "title": "Shared Load Bank Conflicts"}, ("bank-conflicts",)),
        ({"rule": "MemoryCacheAccessPattern", "title": "L2 Local Store Access Pattern"}, ("register-spills",)),
        ({"rule": "TheoreticalOccupancy", "message": "limited by the number of required registers."}, ("registers-limit-occupancy",)),
        ({"rule": "IssueSlotUtilization"}, ()),
        ({"rule": "SharedMemoryConflicts", "kind": "ok"}, ()),
    ],
)  # fmt: skip
def test_a_rule_amounts_to_the_causes_that_it_describes(row, causes):
    assert causes_of_rule(ROW | row) == causes
    assert set(causes) <= set(BY_NAME)
