"""Which of many recordings a page compares: those that may be versions of one kernel."""

import pytest

from profiler.ask.named.settings import Settings
from profiler.ask.report import report_named


@pytest.mark.parametrize(
    ("kernels", "are_compared"),
    [
        (("smem_kernel", "smem_kernel"), True),
        (("kernel", "kernel"), True),  # of one name, whatever that says
        (("warp1", "warp2"), True),
        (("f7", "f8"), True),
        (("local_block_kernel", "reduce"), False),
        (("transpose_shared", "sort_shared"), False),
        (("gpu_kernel", "gpu_test"), False),
    ],
)
def test_versions_of_one_kernel_are_compared_and_strangers_are_not(made, kernels, are_compared):
    first, second = (
        made.profile(name, 1e6, kernel=one, workload=None)
        for name, one in zip(("old", "new"), kernels, strict=True)
    )
    last = made.profile(
        "last", 1e6, kernel="histogram", workload=None
    )  # of two recordings, the comparison was asked for
    settings = Settings(runs=made.store.root, ladder="gemm", ladder_given=False)
    report = report_named([first, second, last], settings, None, kernel_name=None, force=False)
    assert (("old", "new") not in report.unrelated) == are_compared
    assert ("new", "last") in report.unrelated
