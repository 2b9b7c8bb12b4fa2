"""Builds the profiles of a run's kernels, with the work that the ladder declares for them.

Only this module adds a ladder's work to a profile, so all questions count it in the same way.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace

from profiler.analyse.causes.cause import Diagnosis
from profiler.analyse.causes.diagnose import diagnose
from profiler.analyse.recording.kernel_choice import (
    choose_kernel,
    choose_kernels,
    match_kernels,
    pair_kernels,
)
from profiler.analyse.recording.kernel_names import base_name, pattern_of
from profiler.analyse.recording.profile import (
    OpcodeCounts,
    Profile,
    count_opcodes,
    profile_kernel,
    profile_timings,
)
from profiler.analyse.recording.work import find_useful_bytes, with_work
from profiler.analyse.statistics.differences import Readings
from profiler.ask.answer_cache import answer_once
from profiler.ask.named.ladders import work_of
from profiler.ask.named.settings import Settings
from profiler.catalog.ladders.ladder import Kernel
from profiler.store.runs.run import Run


def profile_rung(
    run: Run, kernel: str | None, rung: Kernel | None, timings_ns: Readings | None = None
) -> Profile:
    """Returns the profile of one kernel, or of the run's times if `kernel` is None, with the rung's declared work.

    `timings_ns` are the rung's times if they were measured in another run.
    """
    profile = (
        profile_timings(run) if kernel is None else profile_kernel(run, kernel, count=count_opcodes_once)
    )
    if timings_ns is not None:
        profile = replace(profile, timings_ns=timings_ns)
    return with_work(profile, find_useful_bytes(profile, rung))


def profile_run(run: Run, kernel: str | None, settings: Settings) -> Profile:
    """Returns the profile of one kernel, with the work of the rung that the run measured if its ladder is found."""
    return profile_rung(run, kernel, work_of(run, settings))


def profile_all(run: Run, settings: Settings) -> list[Profile]:
    """Returns the profile of every kernel of a run, or of its times if it holds only timings."""
    rung = work_of(run, settings)
    names = [kernel.name for kernel in run.manifest.kernels] if run.manifest.is_profiled else [None]
    return [profile_rung(run, name, rung) for name in names]


def profile_pairs(
    before: Run, after: Run, settings: Settings, pairs: Iterable[tuple[str, str]]
) -> Iterator[tuple[Profile, Profile]]:
    """Yields the profiles of pairs of kernels: the first of each in one run, the second in the other."""
    rungs = [work_of(run, settings) for run in (before, after)]
    for left, right in pairs:
        yield profile_rung(before, left, rungs[0]), profile_rung(after, right, rungs[1])


def profile_one(run: Run, settings: Settings, kernel_name: str | None) -> Profile:
    """Returns the profile of the one kernel meant, or of the times of a run that holds only timings."""
    return profile_run(run, choose_kernel(run, kernel_name) if run.manifest.is_profiled else None, settings)


def profile_longest(
    runs: Sequence[Run], settings: Settings, kernel_name: str | None
) -> tuple[tuple[Profile, ...], int]:
    """Returns the kernel of one run, or of each of two, that takes most of the time of those meant, and how many others are meant.

    Where the times of several are not recorded, none is chosen: raises KernelAmbiguous.
    """
    found: list[tuple[Profile, ...]]
    if len(runs) == 2:
        before, after = runs
        pairs = match_kernels(before, after, kernel_name, every=True).pairs
        found = [*profile_pairs(before, after, settings, pairs)]
    elif runs[0].manifest.is_profiled:
        names = choose_kernels(runs, kernel_name)[0]
        found = [(profile_run(runs[0], name, settings),) for name in names]
    else:
        return (profile_run(runs[0], None, settings),), 0
    if len(found) > 1 and any(one.total_ns is None for sides in found for one in sides):
        for run in runs:
            choose_kernel(run, kernel_name)
    longest = max(found, key=lambda sides: sum(one.total_ns or 0.0 for one in sides))
    return longest, len(found) - 1


def patterns_of(runs: Sequence[Run]) -> list[str]:
    """Returns a pattern for each kernel that one run, or both of two, have, the one that takes most of the time first.

    Where no times are recorded, they stand in the order of their launches. If two runs share none, those of the last count.
    """
    first, last = runs[0], runs[-1]
    names = {kernel.name for run in runs for kernel in run.manifest.kernels}
    pairs = pair_kernels(first, last).pairs or [
        (kernel.name, kernel.name) for kernel in last.manifest.kernels
    ]
    pairs = sorted(pairs, key=lambda pair: -(profile_kernel(last, pair[1]).total_ns or 0.0))
    return [pattern_of(after, names) if before == after else base_name(after) for before, after in pairs]


def longest_pattern(runs: Sequence[Run]) -> str | None:
    """Returns the first of `patterns_of`; None if each run has one kernel alone."""
    return None if all(len(run.manifest.kernels) == 1 for run in runs) else patterns_of(runs)[0]


def diagnose_once(profile: Profile) -> Diagnosis:
    """Returns the diagnosis of a kernel: the one kept for the same recording, or else a new one, which is kept."""
    asked = (profile.kernel, profile.numbers)
    return answer_once(Diagnosis, "diagnoses", asked, [profile.manifest], lambda: diagnose(profile))


def count_opcodes_once(run: Run, launches: Collection[int]) -> OpcodeCounts:
    """Returns the counts that are kept for the same launches of the same recording, or else counts them anew, and keeps that."""
    asked = tuple(launches)
    return answer_once(OpcodeCounts, "opcodes", asked, [run.manifest], lambda: count_opcodes(run, launches))
