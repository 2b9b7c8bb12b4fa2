"""Gathers the content of `prof report`: a whole ladder, or the recordings that were named."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count, pairwise
from pathlib import PurePath

from profiler.analyse.code.machine_code import CodeView, view_machine_code
from profiler.analyse.compare.compare import compare_profiles
from profiler.analyse.compare.timings_alone import headline_of_times
from profiler.analyse.ladder.climb import Climb, derive_ladder_sheet
from profiler.analyse.ladder.ladder import HEADLINES, LadderStep
from profiler.analyse.ladder.rungs import Rung
from profiler.analyse.recording.kernel_choice import choose_kernels, match_kernels
from profiler.analyse.recording.kernel_names import base_name, called_name, plain_name
from profiler.analyse.recording.main_shape import of_main_shape
from profiler.analyse.recording.overview import TimingSheet, derive_sheet
from profiler.analyse.recording.profile import Profile
from profiler.analyse.recording.source_lines import find_source_lines
from profiler.analyse.report import KernelFindings, PageFindings, PairFindings
from profiler.ask.ladder import climb_ladder, find_roofline
from profiler.ask.named.ladders import rung_of
from profiler.ask.named.meaning import recordings_in
from profiler.ask.named.settings import Settings
from profiler.ask.profiles import diagnose_once, profile_rung
from profiler.ask.show import open_each, timing_of
from profiler.catalog.ladders.ladder import Kernel
from profiler.errors import KernelAmbiguous, MetricsMissing, NotComparable
from profiler.store.runs.run import Run
from profiler.store.runs.run_id import rung_name
from profiler.text import shortened

_NAME_WIDTH = 80
_MOST_IN_TITLE = 3
_MOST_IN_FULL = 24  # kernels with every metric on one page; with more, it would be tens of megabytes


def report_ladder(settings: Settings, title: str | None) -> PageFindings:
    """Returns every rung that has a run, and every step to the next rung."""
    climb = climb_ladder(settings)
    return PageFindings(
        title=title or f"{climb.finding.ladder}: {climb.finding.title}",
        kernels=_rungs(climb, settings),
        pairs=map(_step, climb.steps),
        ladder=derive_ladder_sheet(climb),
        roofline=find_roofline(climb, settings.open_store(), settings),
        others=tuple(climb.others),
        headline=HEADLINES[climb.finding.view],
    )


def report_named(
    references: Sequence[str],
    settings: Settings,
    title: str | None,
    *,
    kernel_name: str | None,
    force: bool,
) -> PageFindings:
    """Returns the recordings in the order named, each compared with the one before for the kernels that both have.

    A folder means the reports in it. A report that cannot be read is left out. Two recordings that are not comparable are an
    error; among several, their pair says why.
    """
    references = [one for reference in references for one in recordings_in(reference, settings)]
    opened, errors = open_each(references, settings, timed=len(references) == 1)
    runs = [run for _, run in opened]
    rungs = [rung_of(run, settings) if _is_single(run) else None for run in runs]
    profiles = [
        _profiles(run, rung, kernel_name, label)
        for run, rung, label in zip(runs, rungs, _labels(runs), strict=True)
    ]
    recordings = list(map(_Recording, runs, rungs, profiles, _anchors(rungs, profiles)))
    titles = [_title(run, rung) for run, rung in zip(runs, rungs, strict=True)]
    is_asked = len(runs) == 2 or kernel_name is not None or force  # for these comparisons
    matches = [
        _matches(*pair, kernel_name) if is_asked or _may_be_versions(*pair) else [] for pair in pairwise(runs)
    ]
    return PageFindings(
        title=title or _title_of_all(titles, " → " if all(matches) else ", "),
        kernels=_named(recordings, settings),
        pairs=_pairs(recordings, matches, force),
        unrelated=tuple(pair for pair, names in zip(pairwise(titles), matches, strict=True) if not names),
        left_out=errors,
    )


# A ladder


def _rungs(climb: Climb, settings: Settings) -> Iterator[KernelFindings]:
    full = len(climb.rungs) <= _MOST_IN_FULL
    for rung in climb.rungs:
        kernel = rung.kernel
        timing = timing_of(rung.timed, settings) if rung.timed else None
        name = f"{kernel.number} {kernel.name}"
        yield _kernel(_anchor(rung), name, kernel, rung.profile.run, rung.profile, timing, full=full)


def _step(step: LadderStep) -> PairFindings:
    anchors = (_anchor(step.before), _anchor(step.after))
    profiles = (step.before.profile, step.after.profile)
    if step.change is None:
        return PairFindings(*anchors, refused=step.refused)
    if not all(profile.launches for profile in profiles):
        headline = headline_of_times(*profiles, step.change.speedup)
        return PairFindings(*anchors, headline=headline, warnings=tuple(step.change.warnings))
    return PairFindings(*anchors, compare_profiles(*profiles, diagnose=diagnose_once), _code(profiles))


def _anchor(rung: Rung) -> str:
    return str(rung.kernel.number)


# Recordings that were named


@dataclass(frozen=True)
class _Recording:
    """A recording, the rung that it measured, and the profile and the anchor of each kernel."""

    run: Run
    rung: Kernel | None
    profiles: Mapping[str, Profile]
    anchors: Mapping[str, str]


def _is_single(run: Run) -> bool:
    return len(run.manifest.kernels) <= 1


def _profiles(run: Run, rung: Kernel | None, pattern: str | None, label: str) -> dict[str, Profile]:
    """Returns the profile of each kernel that is meant, under the label of the page: first what takes most of the time, as in its table."""
    if not run.manifest.is_profiled:
        return {run.manifest.name: replace(profile_rung(run, None, rung), label=label)}
    (names,) = choose_kernels([run], pattern)
    profiles = {name: replace(profile_rung(run, name, rung), label=label) for name in names}
    return dict(sorted(profiles.items(), key=lambda item: -(item[1].total_ns or 0.0)))


def _labels(runs: Sequence[Run]) -> list[str]:
    """Returns what the page calls each run: a report without the folders of its author, unless two would then have one name."""
    files = {run.label for run in runs if not run.stored}
    shortest = {file: PurePath(file).name for file in files}
    if len(set(shortest.values())) < len(files):
        common = os.path.commonpath([os.path.dirname(os.path.abspath(file)) for file in files])
        shortest = {file: os.path.relpath(file, common) for file in files}
    return [run.label if run.stored else shortest[run.label] for run in runs]


def _anchors(
    rungs: Sequence[Kernel | None], profiles: Sequence[Mapping[str, Profile]]
) -> list[dict[str, str]]:
    """Returns the anchor of each kernel in the page: the rungs' numbers if all differ, else 1, 2, 3."""
    numbers = [rung.number for rung in rungs if rung]
    if len(set(numbers)) == len(rungs):
        return [dict.fromkeys(one, str(number)) for one, number in zip(profiles, numbers, strict=True)]
    places = count(1)
    return [{name: str(next(places)) for name in one} for one in profiles]


def _named(recordings: Sequence[_Recording], settings: Settings) -> Iterator[KernelFindings]:
    full = sum(len(one.run.manifest.kernels) for one in recordings) <= _MOST_IN_FULL
    for one in recordings:
        run, rung = one.run, one.rung
        timing = timing_of(run, settings) if run.table("timings").num_rows else None
        for kernel, profile in one.profiles.items():
            name = _title(run, rung) if _is_single(run) else shortened(plain_name(kernel), _NAME_WIDTH)
            found = _kernel(one.anchors[kernel], name, rung, run, profile, timing, full=full)
            yield found if _is_single(run) else replace(found, called=called_name(kernel))


def _matches(before: Run, after: Run, pattern: str | None) -> list[tuple[str, str]]:
    """Returns the kernels to compare: none where recordings of several kernels have none in common."""
    try:
        return match_kernels(before, after, pattern, every=True).pairs
    except KernelAmbiguous:
        return []


def _may_be_versions(before: Run, after: Run) -> bool:
    """Returns whether two of many recordings may be versions of one kernel, and not just lie in the same folder.

    A recorded workload decides it when they are compared. Without one, two single kernels must have one name, or names that
    differ in the number of a version alone: strangers share a word, such as "grad", as easily as versions do.
    """
    if not (_is_single(before) and _is_single(after)) or (
        before.manifest.workload and after.manifest.workload
    ):
        return True
    one, other = (
        {re.sub(r"\d+$", "", base_name(kernel.name)) for kernel in run.manifest.kernels}
        for run in (before, after)
    )
    return not one.isdisjoint(other)


def _pairs(
    recordings: Sequence[_Recording], matches: Sequence[Sequence[tuple[str, str]]], force: bool
) -> Iterator[PairFindings]:
    for (before, after), kernels in zip(pairwise(recordings), matches, strict=True):
        counterparts = dict(kernels)
        for one in (kernel for kernel in before.profiles if kernel in counterparts):
            other = counterparts[one]
            anchors = (before.anchors[one], after.anchors[other])
            sides = (before.profiles[one], after.profiles[other])
            try:
                comparison = compare_profiles(*sides, force=force, diagnose=diagnose_once)
            except NotComparable as refusal:
                if len(recordings) == 2:
                    raise
                yield PairFindings(*anchors, refused=tuple(refusal.details))
            else:
                yield PairFindings(*anchors, comparison, _code(sides))


def _title(run: Run, rung: Kernel | None) -> str:
    """Returns the rung's name, the run's, or the file's without its folders."""
    manifest = run.manifest
    if rung and manifest.ladder and manifest.name == rung_name(manifest.ladder, rung.number):
        return f"{rung.number} {rung.name}"
    return manifest.name if run.stored else PurePath(run.label).name


def _title_of_all(titles: Sequence[str], between: str) -> str:
    """Returns the titles, with an arrow `between` them only where each is compared with the one before."""
    if len(titles) <= _MOST_IN_TITLE:
        return between.join(titles)
    return f"{len(titles)} recordings: {between.join((titles[0], '…', titles[-1]))}"


# One kernel


def _kernel(
    anchor: str,
    name: str,
    rung: Kernel | None,
    run: Run,
    profile: Profile,
    timing: TimingSheet | None,
    *,
    full: bool,
) -> KernelFindings:
    is_profiled = profile.launches > 0
    main = of_main_shape(profile)  # as the sheet
    others = profile.raw.keys() - {one.ncu for one in profile.series.values()}
    return KernelFindings(
        anchor=anchor,
        name=name,
        idea=rung.idea if rung else "",
        run=run,
        profile=main if is_profiled else None,
        sheet=derive_sheet(profile, full, diagnose_once) if is_profiled else None,
        timing=timing,
        code=_code([profile]),
        lines=find_source_lines(main.run, profile.kernel) if is_profiled else None,
        metrics_left_out=0 if full else len(others),
    )


def _code(profiles: Sequence[Profile]) -> CodeView | None:
    """Returns the machine code, or None if a recording holds no execution counts."""
    try:
        return view_machine_code(profiles)
    except MetricsMissing:
        return None
