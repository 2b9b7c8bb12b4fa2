"""What a comparison says first."""

from __future__ import annotations

import pytest

from profiler.analyse.compare.headline import ratio_sentence
from profiler.analyse.findings import Speedup

TIMES = (4e6, 2e6)


@pytest.mark.parametrize(
    ("ratio", "interval", "said"),
    [
        (2.0, (1.9, 2.1), "b is 2.000x as fast as a (4.000 ms -> 2.000 ms under the profiler, ± 5.0 %)."),
        (0.5, (0.4, 0.6), "b takes 2.000x as long as a (4.000 ms -> 2.000 ms under the profiler, ± 20.0 %)."),
        (1.02, (0.99, 1.05), "Which of a and b is faster is not certain (4.000 ms -> 2.000 ms under the profiler)."),
        (1.0, (1.0, 1.0), "a and b take the same time (4.000 ms -> 2.000 ms under the profiler)."),
        (1.02, None, "b is 1.020x as fast as a (4.000 ms -> 2.000 ms under the profiler)."),
    ],
)  # fmt: skip
def test_a_ratio_is_claimed_only_where_its_interval_leaves_one_side_faster(ratio, interval, said):
    assert ratio_sentence(("a", "b"), TIMES, Speedup(ratio, interval, "profiled")) == said


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        (("/reports/a.ncu-rep", "b.ncu-rep"), "b is"),
        (("old/a.ncu-rep", "new/a.ncu-rep"), "new/a.ncu-rep is"),
        (("gemm 5", "gemm 5"), "the second is"),
        (("gemm 5", "/reports/b.ncu-rep"), "b is"),
    ],
)
def test_a_file_is_called_by_its_name_without_folders_unless_both_have_the_same(labels, said):
    assert ratio_sentence(labels, TIMES, Speedup(2.0, None, "unprofiled")).startswith(said)
