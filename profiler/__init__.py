"""prof: did my kernel change do what I believe it did?

The functions behind the commands, for notebooks and scripts:

    import profiler

    runs = profiler.open_runs("runs")
    finding = profiler.compare(runs.find("5", ladder="gemm"), runs.find("6", ladder="gemm"))
    ladder = profiler.ladder("gemm", runs)
    profiler.show("mine.ncu-rep").causes
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
    from profiler.analyse.recording.overview import Sheet
    from profiler.analyse.recording.source_lines import SourceLines
    from profiler.ask.named.settings import Settings
    from profiler.store.runs.run_store import Run, RunStore

__all__ = ["compare", "ladder", "open_runs", "read_report", "roofline", "show", "source_lines"]


def open_runs(location: str | Path = "runs") -> RunStore:
    """Returns the runs in a folder or at a URL such as `s3://bucket/runs`: `.ids()`, `.find("5", ladder="gemm")`, `.manifests()`."""
    from profiler.store.runs.run_store import RunStore

    return RunStore(location)


def read_report(path: str | Path) -> Run:
    """Returns a `.ncu-rep` file as a run, without storing it: `.table("metrics")`, `.to_pandas("metrics")`."""
    from profiler.store.runs.run_store import open_report

    return open_report(Path(path))


def show(run: Run | str | Path, *, kernel_name: str | None = None) -> Sheet:
    """Returns what `prof show` prints of one kernel, given as a run or as the path of a report: `.causes`, `.metrics`, `.rules`."""
    from profiler.ask.named.settings import Settings
    from profiler.ask.show import show_kernel

    return show_kernel(read_report(run) if isinstance(run, (str, Path)) else run, Settings(), kernel_name)


def compare(
    before: Run | str | Path,
    after: Run | str | Path,
    *,
    kernel_name: str | None = None,
    force: bool = False,
) -> Comparison:
    """Returns the comparison of two kernels, given as runs or as paths of reports; of their times alone unless both were profiled."""
    from profiler.ask.compare import compare_runs
    from profiler.ask.named.settings import Settings

    left, right = (read_report(side) if isinstance(side, (str, Path)) else side for side in (before, after))
    (comparison,) = compare_runs(left, right, Settings(), kernel_name=kernel_name, force=force)
    return comparison


def ladder(name: str, runs: RunStore, *, workload: Mapping[str, int] | None = None) -> LadderSheet:
    """Returns every rung and every step of a ladder, given its name or its file: `.to_pandas()`, `.steps_to_pandas()`.

    Uses the runs of this `workload`, by default the one that most rungs were recorded with.
    """
    from profiler.ask.ladder import find_sheet

    return find_sheet(_climb(name, runs, workload))


def roofline(name: str, runs: RunStore, *, workload: Mapping[str, int] | None = None) -> Roofline:
    """Returns how close a ladder's rungs come to the limits of the GPU, as measured by the ladder `ceilings`."""
    from profiler.ask.ladder import find_roofline

    return find_roofline(_climb(name, runs, workload), runs, _settings(name, runs))


def source_lines(run: Run, *, kernel_name: str | None = None) -> SourceLines | None:
    """Returns the executed instructions and stall samples of each source line, or None if the run holds no lines."""
    from profiler.ask.show import find_lines

    return find_lines(run, kernel_name)


def _climb(name: str, runs: RunStore, workload: Mapping[str, int] | None) -> Climb:
    from profiler.ask.ladder import find_climb
    from profiler.ask.named.ladders import open_ladder

    return find_climb(runs, open_ladder(_settings(name, runs)), workload)


def _settings(ladder: str, runs: RunStore) -> Settings:
    from profiler.ask.named.settings import Settings

    return Settings(runs=runs.root, ladder=ladder, ladder_given=True)
