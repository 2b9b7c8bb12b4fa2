"""prof: did my kernel change do what I believe it did?

What the commands use, for notebooks and scripts:

    import profiler

    runs = profiler.open_runs("runs")
    finding = profiler.compare(runs.find("5", ladder="gemm"), runs.find("6", ladder="gemm"))
    ladder = profiler.ladder("gemm", runs)
    report = profiler.read_report("mine.ncu-rep")
    report.to_pandas("metrics")
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from profiler.analyse.findings import Comparison
    from profiler.analyse.ladder.climb import Climb, LadderSheet
    from profiler.analyse.ladder.roofline import Roofline
    from profiler.analyse.recording.source_lines import SourceLines
    from profiler.store.runs.run_store import Run, RunStore

__all__ = ["compare", "ladder", "open_runs", "read_report", "roofline", "source_lines"]


def open_runs(location: str | Path = "runs") -> RunStore:
    """The runs in a folder or at a URL such as `s3://bucket/runs`: `.ids()`, `.find("5", ladder="gemm")`, `.manifests()`."""
    from profiler.store.runs.run_store import RunStore

    return RunStore(location)


def read_report(path: str | Path) -> Run:
    """A `.ncu-rep` file, not stored anywhere: `.table("metrics")`, `.to_pandas("metrics")`."""
    from profiler.store.runs.run_store import open_report

    return open_report(Path(path))


def compare(
    before: Run | str | Path,
    after: Run | str | Path,
    *,
    kernel_name: str | None = None,
    force: bool = False,
) -> Comparison:
    """How one kernel differs from another, given as runs or as paths of reports; of times alone where not both were profiled."""
    from profiler.analyse.compare.compare import compare_profiles
    from profiler.analyse.compare.timings_alone import compare_timings
    from profiler.analyse.recording.profile import match_kernels, profile_kernel

    left, right = (read_report(side) if isinstance(side, (str, Path)) else side for side in (before, after))
    if kernel_name is None and not (left.manifest.is_profiled and right.manifest.is_profiled):
        return compare_timings(left, right, force=force)
    ((left_kernel, right_kernel),) = match_kernels(left, right, kernel_name, every=False)
    return compare_profiles(
        profile_kernel(left, left_kernel), profile_kernel(right, right_kernel), force=force
    )


def ladder(name: str, runs: RunStore, *, workload: Mapping[str, int] | None = None) -> LadderSheet:
    """Every rung of a ladder and every step, given its name or its file: `.to_pandas()`, `.steps_to_pandas()`.

    Of the `workload` asked for, or of what most rungs were recorded with.
    """
    from profiler.analyse.ladder.climb import derive_ladder_sheet

    return derive_ladder_sheet(_climb(name, runs, workload))


def roofline(name: str, runs: RunStore, *, workload: Mapping[str, int] | None = None) -> Roofline:
    """How close the rungs of a ladder come to what the ladder `ceilings` reached on the same GPU."""
    from profiler.analyse.ladder.roofline import find_roofline
    from profiler.catalog.ceilings import read_ceilings

    return find_roofline(_climb(name, runs, workload), runs, read_ceilings(*_ladder_places(runs)))


def source_lines(run: Run, *, kernel_name: str | None = None) -> SourceLines | None:
    """Executed instructions and stall samples of each source line; None where the run holds no lines."""
    from profiler.analyse.recording.profile import choose_kernel
    from profiler.analyse.recording.source_lines import find_source_lines

    return find_source_lines(run, choose_kernel(run, kernel_name)) if run.manifest.is_profiled else None


def _climb(name: str, runs: RunStore, workload: Mapping[str, int] | None) -> Climb:
    from profiler.analyse.ladder.climb import find_climb
    from profiler.catalog.ladders.ladder import find_ladder
    from profiler.catalog.ladders.ladder_file import read_ladder

    return find_climb(runs, read_ladder(find_ladder(name, *_ladder_places(runs))), workload)


def _ladder_places(runs: RunStore) -> tuple[Path, ...]:
    """Here, then beside the runs."""
    return (Path.cwd(), *([runs.root.absolute()] if isinstance(runs.root, Path) else []))
