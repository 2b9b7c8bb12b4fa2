"""Compares two kernels, by their profiles or by their times alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from msgspec.structs import replace as with_fields

from profiler.analyse.compare.compare import compare_profiles
from profiler.analyse.compare.several import sum_up
from profiler.analyse.compare.timings_alone import compare_timings
from profiler.analyse.findings import ComparisonFinding, Comparisons
from profiler.analyse.recording.kernel_choice import KernelPairs, match_kernels, names_both
from profiler.analyse.recording.profile import profile_kernel
from profiler.ask.named.earlier import open_with_the_one_before
from profiler.ask.named.ladders import work_of
from profiler.ask.named.references import open_named
from profiler.ask.named.settings import Settings
from profiler.ask.named.sizes import suggesting_a_choice
from profiler.ask.profiles import diagnose_once, profile_one, profile_pairs
from profiler.store.runs.run import Run
from profiler.text import counted, duration


def compare(
    before: str,
    after: str | None,
    settings: Settings,
    *,
    kernel_name: str | None = None,
    every: bool | None = False,
    metrics: Sequence[str] = (),
    force: bool = False,
    other_gpu: str | None = None,
    other_kernel: str | None = None,
    other_launch: str | int | None = None,
) -> list[ComparisonFinding]:
    """Returns one comparison, or one for `every` kernel that both sides have; of times alone unless both were profiled.

    If `every` is None, several kernels that both sides have are all compared; if it is False, they are refused. With
    `other_gpu`, the second side is from that GPU, and only the first from the GPU of the settings. With `other_kernel`,
    `kernel_name` chooses only the kernel of the first side, and with `other_launch`, the settings only its launches.
    Without `after`, the run that is named is compared with the one before it.
    """
    timed = not (kernel_name or every or metrics)  # each of these needs a profile
    if after is None:
        left, right = open_with_the_one_before(before, settings, timed=timed)
    elif other_gpu is None and other_launch is None:
        left, right = open_named([before, after], settings, timed=timed)
    else:
        launch = settings.launch if other_launch is None else other_launch
        sides = ((before, settings), (after, replace(settings, gpu=other_gpu or settings.gpu, launch=launch)))
        left, right = (open_named([one], of, timed=timed)[0] for one, of in sides)
    with suggesting_a_choice([(before, left), (after or before, right)], settings):
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
    every: bool | None,
    metrics: Sequence[str] = (),
    force: bool,
    other_kernel: str | None = None,
) -> list[ComparisonFinding]:
    """Returns the comparisons of two open runs, as `compare` does.

    Kernels that one `kernel_name` chooses are versions of one, whatever their names. So are two that each have their own,
    or of which one is to be a `VersionOf` the other, only if their names or their work say so, or with `force`.
    """
    asks_for_profiles = kernel_name or every or metrics
    if not (asks_for_profiles or (left.manifest.is_profiled and right.manifest.is_profiled)):
        rungs = (work_of(left, settings), work_of(right, settings))
        return [compare_timings(left, right, rungs, force=force)]
    compared_as = partial(compare_profiles, force=force, metrics=metrics, diagnose=diagnose_once)
    if other_kernel is not None:
        sides = profile_one(left, settings, kernel_name), profile_one(right, settings, other_kernel)
        return [compared_as(*sides, does_same_work=force)]
    found = match_kernels(left, right, kernel_name, every=every is not False)
    pairs = profile_pairs(left, right, settings, found.pairs)
    compared = [compared_as(*sides, does_same_work=names_both(kernel_name) or force) for sides in pairs]
    caution = _left_alone(left, right, found)
    return [_cautioned(one, caution) for one in compared] if caution else compared


def _left_alone(before: Run, after: Run, found: KernelPairs) -> str:
    """Returns how many kernels only one side has, and how long they take: no comparison of the others counts their time."""
    sides = ((before, found.gone, "the first"), (after, found.new, "the second"))
    told = [f"{_kernels_and_time(run, names)} of {side} recording" for run, names, side in sides if names]
    return f"not compared, as the other has none of that name: {' and '.join(told)}" if told else ""


def _kernels_and_time(run: Run, kernels: Sequence[str]) -> str:
    times_ns = [profile_kernel(run, name).total_ns for name in kernels]
    time = f" ({duration(sum(one or 0.0 for one in times_ns))})" if any(times_ns) else ""
    return f"{counted(len(kernels), 'kernel')}{time}"


def _cautioned(comparison: ComparisonFinding, caution: str) -> ComparisonFinding:
    comparable = comparison.comparable
    return with_fields(
        comparison, comparable=with_fields(comparable, warnings=[caution, *comparable.warnings])
    )
