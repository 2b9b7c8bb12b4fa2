"""What `prof report` shows: a whole ladder, or the recordings that were named, with all that is found of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from profiler.commands.options import Settings

_NAME_WIDTH = 80
_SOURCE = "SourceCounters"  # the section that samples lines; without it they say no more than the hot loop
_MOST_IN_FULL = 24  # kernels with every metric on one page: of more it would be tens of megabytes

if TYPE_CHECKING:
    from profiler.analyse.code.machine_code import View
    from profiler.analyse.ladder.ladder import LadderStep
    from profiler.analyse.ladder.rungs import Rung
    from profiler.analyse.recording.overview import TimingSheet
    from profiler.analyse.recording.profile import Profile
    from profiler.catalog.ladders.ladder import Kernel
    from profiler.present.page import Contents, KernelPart, PairPart
    from profiler.present.page.drawing import Drawing
    from profiler.store.runs.run_store import Run


def find_ladder_contents(settings: Settings, title: str | None, drawing: Drawing) -> Contents:
    """Every rung that has a run, and every step from one to the next; drawn while the next one is analysed."""
    from profiler.analyse.ladder.climb import derive_ladder_sheet
    from profiler.analyse.ladder.ladder import HEADLINES
    from profiler.analyse.ladder.roofline import find_roofline
    from profiler.catalog.ceilings import read_ceilings
    from profiler.commands.answers import find_ladder
    from profiler.present.page import Contents
    from profiler.present.page.figures import ladder_pictures
    from profiler.store.runs.run_store import RunStore

    climb = find_ladder(settings, None, None)
    sheet = derive_ladder_sheet(climb)
    roofline = find_roofline(climb, RunStore(settings.runs_folder), read_ceilings(*settings.ladder_places))
    pictures = ladder_pictures(sheet, roofline, drawing)
    full, headline = len(climb.rungs) <= _MOST_IN_FULL, HEADLINES[climb.finding.view]
    parts = {rung.kernel.number: _rung_part(rung, drawing, full) for rung in climb.rungs}
    return Contents(
        title=title or f"{climb.finding.ladder}: {climb.finding.title}",
        kernels=list(parts.values()),
        pairs=[_step_part(step, parts, headline, drawing) for step in climb.steps],
        ladder=sheet,
        others=tuple(climb.others),
        headline=headline,
        pictures=pictures,
        roofline_text=drawing.ask_sentence("roofline_sentence", roofline),
    )


def _rung_part(rung: Rung, drawing: Drawing, full: bool) -> KernelPart:
    from profiler.analyse.recording.overview import derive_timing_sheet

    kernel = rung.kernel
    timing = derive_timing_sheet(rung.timed, kernel) if rung.timed else None
    run = rung.profile.run
    assert run is not None  # it was read from one
    name = f"{kernel.number} {kernel.name}"
    return _part(str(kernel.number), name, kernel, run, rung.profile, timing, drawing, full=full)


def _part(
    anchor: str,
    name: str,
    kernel: Kernel | None,
    run: Run,
    profile: Profile,
    timing: TimingSheet | None,
    drawing: Drawing,
    *,
    full: bool,
) -> KernelPart:
    from profiler.analyse.recording.overview import derive_sheet
    from profiler.analyse.recording.source_lines import find_source_lines
    from profiler.present.page import KernelPart
    from profiler.present.page.figures import kernel_pictures

    is_profiled = profile.launches > 0
    lines = find_source_lines(run, profile.kernel) if _SOURCE in run.manifest.sections else None
    pictures = kernel_pictures(profile, lines, drawing)
    others = profile.raw.keys() - {one.ncu for one in profile.series.values()}
    return KernelPart(
        anchor=anchor,
        name=name,
        idea=kernel.idea if kernel else "",
        run=run,
        profile=profile if is_profiled else None,
        sheet=derive_sheet(run, profile, full) if is_profiled else None,
        timing=timing,
        code=_code([profile]),
        pictures=pictures,
        metrics_left_out=0 if full else len(others),
    )


def _step_part(
    step: LadderStep, parts: dict[int, KernelPart], headline: Sequence[str], drawing: Drawing
) -> PairPart:
    from profiler.present.page import PairPart

    sides = (parts[step.before.kernel.number], parts[step.after.kernel.number])
    profiles = (step.before.profile, step.after.profile)
    if step.change is None:
        return PairPart(*sides, comparison=None, code=None, refused=step.refused)
    if not all(profile.launches for profile in profiles):
        change = step.change
        return PairPart(*sides, None, None, speedup=change.speedup, warnings=tuple(change.warnings))
    kernels = (step.before.kernel, step.after.kernel)
    return _pair_part(sides, profiles, kernels, headline, drawing, force=False)


def _pair_part(
    sides: tuple[KernelPart, KernelPart],
    profiles: tuple[Profile, Profile],
    kernels: tuple[Kernel | None, Kernel | None],
    headline: Sequence[str],
    drawing: Drawing,
    *,
    force: bool,
) -> PairPart:
    from profiler.analyse.compare.compare import compare_profiles
    from profiler.analyse.recording.work import find_useful_bytes
    from profiler.present.page import PairPart
    from profiler.present.page.figures import pair_pictures

    before, after = map(find_useful_bytes, profiles, kernels)
    comparison = compare_profiles(*profiles, force=force, useful_bytes=(before, after))
    pictures = pair_pictures(comparison, headline, drawing)
    return PairPart(*sides, comparison, _code(profiles), pictures)


def _code(profiles: Sequence[Profile]) -> View | None:
    """None where a recording holds no execution counts."""
    from profiler.analyse.code.machine_code import view_machine_code
    from profiler.errors import MetricsMissing

    try:
        return view_machine_code(profiles)
    except MetricsMissing:
        return None


def find_named_contents(
    references: Sequence[str],
    settings: Settings,
    title: str | None,
    drawing: Drawing,
    *,
    kernel_name: str | None,
    force: bool,
) -> Contents:
    """Recordings in the order named, each against the one before; of several kernels, those common to both."""
    from itertools import pairwise

    from profiler.analyse.recording.profile import match_kernels
    from profiler.catalog.metrics import HEADLINE
    from profiler.commands.ladders import rung_of
    from profiler.commands.sources import open_sources
    from profiler.present.page import Contents

    runs = open_sources(list(references), settings, timed=len(references) == 1)
    rungs = [rung_of(run.manifest, settings) if _is_single(run) else None for run in runs]
    parts = _named_parts(runs, rungs, kernel_name, drawing)
    pairs = []
    for (left, before), (right, after) in pairwise(enumerate(runs)):
        several = not (_is_single(before) and _is_single(after))
        for names in match_kernels(before, after, kernel_name, several):
            sides = parts[left, names[0]], parts[right, names[1]]
            profiles = _profile_of(sides[0]), _profile_of(sides[1])
            pairs.append(
                _pair_part(sides, profiles, (rungs[left], rungs[right]), HEADLINE, drawing, force=force)
            )
    return Contents(title or " → ".join(run.label for run in runs), list(parts.values()), pairs)


def _is_single(run: Run) -> bool:
    return len(run.manifest.kernels) <= 1


def _named_parts(
    runs: Sequence[Run], rungs: Sequence[Kernel | None], pattern: str | None, drawing: Drawing
) -> dict[tuple[int, str], KernelPart]:
    """By the place of the run and the kernel's name. Rungs keep their numbers where each stands once."""
    from profiler.analyse.compare.changes import profile_timings
    from profiler.analyse.recording.overview import derive_timing_sheet
    from profiler.analyse.recording.profile import choose_kernels, profile_kernel
    from profiler.analyse.recording.work import find_useful_bytes, with_work

    numbers = [rung.number for rung in rungs if rung]
    are_rungs = len(set(numbers)) == len(runs)
    full = sum(len(run.manifest.kernels) for run in runs) <= _MOST_IN_FULL
    parts: dict[tuple[int, str], KernelPart] = {}
    for place, (run, rung) in enumerate(zip(runs, rungs, strict=True)):
        timing = derive_timing_sheet(run, rung) if run.table("timings").num_rows else None
        names = choose_kernels([run], pattern)[0] if run.manifest.is_profiled else [run.manifest.name]
        for name in names:
            profile = profile_kernel(run, name) if run.manifest.is_profiled else profile_timings(run)
            profile = with_work(profile, find_useful_bytes(profile, rung))
            anchor = str(numbers[place] if are_rungs else len(parts) + 1)
            parts[place, name] = _part(
                anchor, _name(run, rung, name), rung, run, profile, timing, drawing, full=full
            )
    return parts


def _name(run: Run, rung: Kernel | None, kernel: str) -> str:
    """The rung; a run under a name of its own by that; of several kernels, the kernel."""
    from profiler.store.runs.manifest import rung_name
    from profiler.text import shortened

    if not _is_single(run):
        return shortened(kernel, _NAME_WIDTH)
    manifest = run.manifest
    if rung and manifest.ladder and manifest.name == rung_name(manifest.ladder, rung.number):
        return f"{rung.number} {rung.name}"
    return manifest.name if run.stored else run.label


def _profile_of(part: KernelPart) -> Profile:
    assert part.profile is not None  # timings alone are not compared
    return part.profile
