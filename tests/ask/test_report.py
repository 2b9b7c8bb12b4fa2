"""Which of many recordings a page compares: those that may be versions of one kernel."""

import pyarrow as pa
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
        (("norm_v1", "norm_v2"), True),
        (("relu_grad", "resize_grad"), False),  # strangers share a word as well
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


def test_that_two_reports_are_compressed_makes_them_no_versions(reports, tmp_path):
    files = [tmp_path / f"{name}.ncu-rep.zst" for name in ("one", "two", "three")]
    for file, name in zip(files, ("gemm_5", "triton_matmul", "triton_add_full"), strict=True):
        file.write_bytes(bytes(pa.Codec("zstd").compress((reports / f"{name}.ncu-rep").read_bytes())))
    settings = Settings(runs=tmp_path / "runs", ladder="gemm", ladder_given=False)
    report = report_named([str(file) for file in files], settings, None, kernel_name=None, force=False)
    assert len(report.unrelated) == 2
