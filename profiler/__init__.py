"""prof: did my kernel change do what I believe it did?

What the commands use, for notebooks and scripts:

    import profiler

    runs = profiler.open_runs("runs")
    finding = profiler.compare(runs.find("5", ladder="gemm"), runs.find("6", ladder="gemm"))
    report = profiler.read_report("mine.ncu-rep")
    report.to_pandas("metrics")
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from profiler.analyse.findings import Comparison
    from profiler.store.runs import Run, RunStore

__all__ = ["compare", "open_runs", "read_report"]


def open_runs(folder: str | Path = "runs") -> RunStore:
    """The runs in a folder: `.ids()`, `.find("5", ladder="gemm")`, `.manifests()`."""
    from profiler.store.runs import RunStore

    return RunStore(Path(folder))


def read_report(path: str | Path) -> Run:
    """A `.ncu-rep` file, not stored anywhere: `.table("metrics")`, `.to_pandas("metrics")`."""
    from profiler.store.runs import open_report

    return open_report(Path(path))


def compare(
    before: Run | str | Path,
    after: Run | str | Path,
    *,
    kernel_name: str | None = None,
    force: bool = False,
) -> Comparison:
    """How one kernel differs from another, given as runs or as paths of reports."""
    from profiler.analyse.compare import compare_profiles
    from profiler.analyse.profile import match_kernels, profile_kernel

    left, right = (read_report(side) if isinstance(side, (str, Path)) else side for side in (before, after))
    ((left_kernel, right_kernel),) = match_kernels(left, right, kernel_name, every=False)
    return compare_profiles(
        profile_kernel(left, left_kernel), profile_kernel(right, right_kernel), force=force
    )
