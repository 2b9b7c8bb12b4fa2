"""The findings that verbs print and that `prof mcp` answers with: one way to each of them.

What a person named and the settings in; what was found out, to be printed by whoever asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from profiler.commands.options import Settings
from profiler.commands.sources import open_sources

if TYPE_CHECKING:
    from profiler.analyse.code.machine_code import View
    from profiler.analyse.findings import Comparison
    from profiler.analyse.ladder.climb import Climb
    from profiler.analyse.ladder.ladder import LadderView
    from profiler.analyse.recording.overview import Sheet, Sheets, TimingSheet
    from profiler.analyse.recording.profile import Profile
    from profiler.present.listing import Listing
    from profiler.store.runs.run_store import Run, RunStore


def answer_json(finding: Any, full: bool, wanted: Sequence[str] = ()) -> str:
    """All of it, or what matters most in 8 KB, the `wanted` metrics among it."""
    from profiler.present.encode import to_json

    if full:
        return to_json(finding)
    from profiler.present.brief import brief

    return to_json(brief(finding, wanted))


def find_comparisons(
    before: str,
    after: str,
    settings: Settings,
    *,
    kernel_name: str | None = None,
    every: bool = False,
    metrics: Sequence[str] = (),
    force: bool = False,
    size: str | int | None = None,
) -> list[Comparison]:
    """One; of `every` kernel common to both sides, one each. Of times alone where not both sides were profiled."""
    from profiler.analyse.compare.compare import compare_profiles
    from profiler.analyse.compare.timings_alone import compare_timings
    from profiler.analyse.recording.profile import match_kernels
    from profiler.commands.ladders import rung_of
    from profiler.commands.sizes import suggesting_a_size

    timed = not (kernel_name or every or metrics)  # which ask for a profile
    left, right = open_sources([before, after], settings, timed=timed, size=size)
    with suggesting_a_size([(before, left), (after, right)], settings):
        if not (left.manifest.is_profiled and right.manifest.is_profiled):
            rungs = (rung_of(left.manifest, settings), rung_of(right.manifest, settings))
            return [compare_timings(left, right, rungs, force=force)]
        comparisons = []
        for left_kernel, right_kernel in match_kernels(left, right, kernel_name, every):
            one, one_bytes = _profile(left, left_kernel, settings)
            other, other_bytes = _profile(right, right_kernel, settings)
            moved = (one_bytes, other_bytes)
            comparisons.append(compare_profiles(one, other, force=force, metrics=metrics, useful_bytes=moved))
        return comparisons


def _profile(run: Run, kernel: str, settings: Settings) -> tuple[Profile, float | None]:
    """With the bytes that its work has to move, of a rung whose ladder is found here and says so."""
    from profiler.analyse.recording.profile import profile_kernel
    from profiler.analyse.recording.work import find_useful_bytes, with_work
    from profiler.commands.ladders import rung_of

    profile = profile_kernel(run, kernel)
    moved = find_useful_bytes(profile, rung_of(run.manifest, settings))
    return with_work(profile, moved), moved


@dataclass(frozen=True)
class Recording:
    """A run's kernels, its unprofiled timings, or both."""

    run: Run
    sheets: list[Sheet]
    timing: TimingSheet | None

    @property
    def finding(self) -> Sheets | TimingSheet:
        from profiler.analyse.recording.overview import Sheets

        if self.timing and not self.run.manifest.is_profiled:
            return self.timing
        return Sheets(self.run.manifest, self.sheets, self.timing.timing if self.timing else None)


def find_recording(
    source: str,
    settings: Settings,
    *,
    kernel_name: str | None = None,
    full: bool = False,
    timed: bool = True,
    size: str | int | None = None,
) -> Recording:
    """With every metric that the report holds if `full`; of timings alone only if `timed`."""
    from profiler.analyse.recording.overview import derive_sheet
    from profiler.analyse.recording.profile import choose_kernels

    (run,) = open_sources([source], settings, timed=timed, size=size)
    if not run.manifest.is_profiled:
        return Recording(run, [], _timing(run, settings))
    (kernels,) = choose_kernels([run], kernel_name)
    sheets = [derive_sheet(run, _profile(run, kernel, settings)[0], full) for kernel in kernels]
    return Recording(run, sheets, _timing(run, settings) if run.table("timings").num_rows else None)


def _timing(run: Run, settings: Settings) -> TimingSheet:
    from profiler.analyse.recording.overview import derive_timing_sheet
    from profiler.commands.ladders import rung_of

    return derive_timing_sheet(run, rung_of(run.manifest, settings))


def find_ladder(
    settings: Settings, size: str | int | None, set_param: list[str] | None, view: LadderView | None = None
) -> Climb:
    """Of the workload asked for, or of what most rungs share; in the view asked for, or that of the ladder."""
    from profiler.analyse.ladder.climb import find_climb
    from profiler.commands.ladders import open_ladder, workloads

    opened = open_ladder(settings)
    wanted = None
    if size is not None or set_param:
        (wanted,) = workloads(opened, None if size is None else [size], set_param)
    return find_climb(settings.open_runs(), opened, wanted, view)


def find_machine_code(
    before: str,
    after: str | None,
    settings: Settings,
    *,
    kernel_name: str | None = None,
    whole: bool = False,
    size: str | int | None = None,
) -> View:
    """The hot loop, or the `whole` function, of one kernel or of two."""
    from profiler.analyse.code.machine_code import view_machine_code
    from profiler.analyse.recording.profile import choose_kernel, match_kernels, profile_kernel
    from profiler.errors import KernelAmbiguous

    sources = open_sources([before] if after is None else [before, after], settings, size=size)
    try:
        if len(sources) == 1:
            kernels = [choose_kernel(sources[0], kernel_name)]
        else:
            ((*kernels,),) = match_kernels(sources[0], sources[1], kernel_name, every=False)
    except KernelAmbiguous as error:
        error.remedy = "Choose with --kernel-name REGEX."  # there is no --all here
        raise
    profiles = [profile_kernel(run, kernel) for run, kernel in zip(sources, kernels, strict=True)]
    return view_machine_code(profiles, whole=whole)


def find_listing(settings: Settings, name: str | None) -> Listing:
    """The kernels of the ladder, where there is one, and the newest run of each name; or every run that is meant.

    A name that means nothing is an error, as it is for every other question.
    """
    from profiler.commands.ladders import open_ladder
    from profiler.commands.sources import meant_by, require_ladder
    from profiler.errors import LadderNotFound, RunNotFound
    from profiler.present.listing import derive_listing

    store = settings.open_runs()
    require_ladder(settings, lambda: store)
    try:
        ladder = open_ladder(settings)
    except LadderNotFound:
        ladder = None
    listing = derive_listing(store, ladder, meant_by(name, settings), every=name is not None)
    if name is not None and not listing.runs:
        raise RunNotFound(why_nothing(store, name, settings))
    return listing


def why_nothing(store: RunStore, name: str | None, settings: Settings) -> str:
    """Is listed of this name, or of the ladder asked for."""
    from profiler.commands.ladders import ladder_name
    from profiler.commands.sources import meant_by
    from profiler.store.runs.names import no_such_name

    ids = store.ids()
    if not ids:
        return f"{store.root}: no runs yet: prof ingest REPORT adds one"
    ladder = ladder_name(settings)
    if name is None:
        return f"{store.root}: no run of ladder '{ladder}'"
    is_there = meant_by(None, settings)
    names = (run_id.name for run_id in ids if is_there(run_id.name))
    return f"{store.root}: {no_such_name(name, ladder, names, of_ladder=settings.ladder_given)}"
