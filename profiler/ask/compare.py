"""Compares two kernels, by their profiles or by their times alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from profiler.analyse.compare.changes import compare_timings
from profiler.analyse.compare.compare import compare_profiles, sum_up
from profiler.analyse.findings import ComparisonFinding, Comparisons
from profiler.analyse.recording.kernel_choice import match_kernels
from profiler.ask.named.ladders import work_of
from profiler.ask.named.references import open_named
from profiler.ask.named.settings import Settings
from profiler.ask.named.sizes import suggesting_a_choice
from profiler.ask.profiles import diagnose_once, profile_one, profile_pairs
from profiler.store.runs.run_store import Run


def compare(
    before: str,
    after: str,
    settings: Settings,
    *,
    kernel_name: str | None = None,
    nvtx: str | None = None,
    every: bool | None = False,
    metrics: Sequence[str] = (),
    force: bool = False,
    size: str | int | None = None,
    other_gpu: str | None = None,
    other_kernel: str | None = None,
) -> list[ComparisonFinding]:
    """Returns one comparison, or one for `every` kernel that both sides have; of times alone unless both were profiled.

    If `every` is None, several kernels that both sides have are all compared; if it is False, they are refused. With
    `other_gpu`, the second side is from that GPU, and only the first from the GPU of the settings. With
    `other_kernel`, `kernel_name` chooses only the kernel of the first side.
    """
    timed = not (kernel_name or every or metrics)  # each of these needs a profile
    if other_gpu is None:
        left, right = open_named([before, after], settings, timed=timed, size=size, nvtx=nvtx)
    else:
        sides = ((before, settings), (after, replace(settings, gpu=other_gpu)))
        left, right = (open_named([one], of, timed=timed, size=size, nvtx=nvtx)[0] for one, of in sides)
    with suggesting_a_choice([(before, left), (after, right)], settings):
        return compare_runs(
            left,
            right,
            settings,
            kernel_name=kernel_name,
            every=every,
            metrics=metrics,
            force=force,
            other_kernel=other_kernel,
        )


def answer_of(comparisons: list[ComparisonFinding], *, every: bool) -> ComparisonFinding | Comparisons:
    """Returns the one comparison, or several, or those of `every` kernel, with an index and a headline."""
    return sum_up(comparisons) if every or len(comparisons) > 1 else comparisons[0]


def compare_runs(
    left: Run,
    right: Run,
    settings: Settings,
    *,
    kernel_name: str | None = None,
    every: bool | None = False,
    metrics: Sequence[str] = (),
    force: bool = False,
    other_kernel: str | None = None,
) -> list[ComparisonFinding]:
    """Returns the comparisons of two open runs, as `compare` does."""
    asks_for_profiles = kernel_name or every or metrics
    if not (asks_for_profiles or (left.manifest.is_profiled and right.manifest.is_profiled)):
        rungs = (work_of(left, settings), work_of(right, settings))
        return [compare_timings(left, right, rungs, force=force)]
    pairs = (
        profile_pairs(
            left, right, settings, match_kernels(left, right, kernel_name, every=every is not False)
        )
        if other_kernel is None
        else [(profile_one(left, settings, kernel_name), profile_one(right, settings, other_kernel))]
    )
    return [compare_profiles(*sides, force=force, metrics=metrics, diagnose=diagnose_once) for sides in pairs]
