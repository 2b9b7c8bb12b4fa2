"""What a comparison says first."""

from __future__ import annotations

import pytest

from profiler.analyse.findings import Speedup
from profiler.present.documents.comparison import speedup_text


@pytest.mark.parametrize(
    ("ratio", "interval", "said"),
    [
        (2.0, (1.9, 2.1), "The second is 2.000x as fast (by profiled duration, 95 % interval 1.900 to 2.100)"),
        (0.5, (0.4, 0.625), "The first is 2.000x as fast (by profiled duration, 95 % interval 1.600 to 2.500)"),
        (1.02, (0.99, 1.05),
         "Which is faster is not certain: the second is 0.990 to 1.050x as fast (95 % interval, by profiled duration)"),
        (1.02, (1.001, 1.05), "The second is 1.020x as fast (by profiled duration, 95 % interval 1.001 to 1.050)"),
        (1.0, (1.0, 1.0), "The same duration (by profiled duration)"),
        (1.02, None, "The second is 1.020x as fast (by profiled duration)"),
    ],
)  # fmt: skip
def test_a_ratio_is_claimed_only_where_its_interval_leaves_one_side_faster(ratio, interval, said):
    assert speedup_text(Speedup(ratio, interval, "profiled")) == said
