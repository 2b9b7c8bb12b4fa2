"""Gathers what `prof show` prints about one recording, or about several together."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from msgspec.structs import replace as with_fields

from profiler.analyse.causes.cause import FullerRun
from profiler.analyse.ladder.climb import derive_stalls
from profiler.analyse.recording.kernel_choice import (
    choose_kernels,
    matching_kernels,
    nearest_words,
)
from profiler.analyse.recording.overview import (
    RecordingOverview,
    SheetFinding,
    Sheets,
    TimingSheet,
    derive_sheet,
    derive_timing_sheet,
)
from profiler.analyse.recording.profile import Profile
from profiler.analyse.recording.source_lines import SourceLines, find_source_lines
from profiler.analyse.recording.triage import Triage, in_order, triage
from profiler.ask.named.ladders import work_of
from profiler.ask.named.meaning import ReportPath, find_meaning, recordings_in
from profiler.ask.named.references import open_named, with_launches
from profiler.ask.named.settings import Settings
from profiler.ask.named.sizes import how_to_profile, is_choice
from profiler.ask.profiles import diagnose_once, profile_longest, profile_one, profile_run
from profiler.catalog.ladders.ladder import size_text
from profiler.catalog.presets import SAMPLED
from profiler.errors import KernelNotFound, ReportError, RunNotFound, RunUnusable
from profiler.store.runs.manifest import Manifest
from profiler.store.runs.names import names_of_kernel
from profiler.store.runs.run import Run
from profiler.text import counted

_MOST_ALIKE = 200  # each is a manifest to read


@dataclass(frozen=True)
class ShownAlone:
    """The sheets of one recording, and by which of the names that were given it is meant."""

    source: str
    recording: RecordingOverview

    @property
    def finding(self) -> Sheets | TimingSheet:
        return self.recording.finding


def show_recordings(
    sources: Sequence[str],
    settings: Settings,
    *,
    kernel_name: str | None = None,
    full: bool = False,
    keeps_index: bool = False,
    opened: Mapping[str, Run] | None = None,
) -> ShownAlone | ShownTogether:
    """Returns the sheets of the one recording that is meant, with every metric if `full`, or the kernels of several together.

    The sources are those that `recordings_meant` returns. If the one kernel that is asked for is in one of several recordings, that
    one is shown alone, since an index of one kernel says nothing; with `keeps_index`, as for a script, there is an index all the same.
    A run in `opened` is not opened again to be shown alone.
    """
    if len(sources) > 1:
        several = show_several(sources, settings, kernel_name=kernel_name, full=full)
        if keeps_index or several.only_source is None:
            return several
        sources = [several.only_source]
    (source,) = sources
    if opened and source in opened:
        run = with_launches(opened[source], settings.choice)
    else:
        timed = kernel_name is None  # a kernel's name is known from a profile alone
        (run,) = open_named([source], settings, timed=timed)
    return ShownAlone(source, _show_run(run, settings, kernel_name, full=full))


@dataclass(frozen=True)
class ShownTogether:
    """The kernels of several recordings, with a sheet for each entry of the index, and the errors of reports that cannot be read."""

    finding: Triage
    sheets: list[SheetFinding]
    errors: list[ReportError]

    @property
    def only_source(self) -> str | None:
        """Returns the one recording that holds the one kernel that is meant; None for several kernels, or where a report could not be read."""
        return self.finding.index[0].source if len(self.sheets) == 1 and not self.errors else None


def show_several(
    sources: Sequence[str],
    settings: Settings,
    *,
    kernel_name: str | None = None,
    full: bool = False,
) -> ShownTogether:
    """Returns the kernels of several recordings by what one change is likely to save; their sheets have every metric if `full`.

    The sources are those that `recordings_meant` returns. Recordings without a kernel that is asked for are left out.
    """
    try:
        opened, errors = open_each(sources, settings)
    except RunNotFound as error:
        error.remedy = (error.remedy or "") + " `-k PATTERN` chooses a kernel by its name."
        raise
    runs = [run for _, run in opened]
    meant = [(source, run) for source, run in opened if matching_kernels(run, kernel_name)]
    if not meant:
        near = nearest_words(kernel_name or "", [one.name for run in runs for one in run.manifest.kernels])
        where = "this recording" if len(runs) == 1 else f"these {len(runs)} recordings"
        raise KernelNotFound(f"no kernel in {where} matches '{kernel_name}'{near}")
    quiet = replace(settings, progress=lambda _: None)
    sheets: list[tuple[str, SheetFinding]] = []
    for place, (source, run) in enumerate(meant, start=1):
        settings.progress(f"examining {place} of {len(meant)} recordings")
        sheets += [(source, sheet) for sheet in _show_run(run, quiet, kernel_name, full=full).sheets]
    settings.progress("")
    left_out = list(map(left_out_text, errors.values()))
    counted = all(run.manifest.has_counters for _, run in meant)
    finding = triage(sheets, has_counters=counted, cautions=left_out)
    return ShownTogether(finding, in_order(sheets), list(errors.values()))


def open_each(
    sources: Sequence[str], settings: Settings, *, timed: bool = False
) -> tuple[list[tuple[str, Run]], dict[str, ReportError]]:
    """Opens the recordings, all at once if all can be read; one that cannot hides no other, and has its error by its name.

    Raises an error that names them all if none can be read.
    """
    with suppress(ReportError):
        return list(zip(sources, open_named(sources, settings, timed=timed), strict=True)), {}
    opened: list[tuple[str, Run]] = []
    errors: dict[str, ReportError] = {}
    for source in sources:
        try:
            opened += [(source, run) for run in open_named([source], settings, timed=timed)]
        except ReportError as error:
            errors[source] = error
    if not opened:
        raise _none_is_read(list(errors.values()))
    return opened, errors


def _none_is_read(errors: Sequence[ReportError]) -> ReportError:
    """Returns the only error, or one of the first one's kind that names each, with its remedy."""
    first, *others = errors
    if not others:
        return first
    return type(first)(f"none of these {len(errors)} reports can be read:", details=_named(errors), remedy="")


def _named(errors: Iterable[ReportError]) -> list[str]:
    return [f"  {line}" for one in errors for line in (one.message, *one.details, f"    {one.remedy}")]


def left_out_text(error: ReportError) -> str:
    """Returns what is wrong with a report that was left out, and what to do about it."""
    return f"left out: {error.message.rstrip('.')}. {error.remedy}".rstrip()


def some_left_out(errors: Sequence[ReportError], among: int, *, are_named: bool) -> ReportError:
    """Returns the error that ends an answer about the other reports, of the first one's kind; it names each, unless the answer has."""
    said = f"{len(errors)} of {counted(among, 'recording')} {'is' if len(errors) == 1 else 'are'} left out"
    if are_named:
        return type(errors[0])(f"{said}, as the cautions say", remedy="")
    return type(errors[0])(f"{said}:", details=_named(errors), remedy="")


def recordings_meant(sources: Sequence[str], settings: Settings) -> list[str]:
    """Returns the recordings, with the reports in a folder instead of it; a file with two paths is one recording."""
    found: dict[str, str] = {}
    for source in sources:
        for one in recordings_in(source, settings):
            found.setdefault(_real_path(one, settings), one)
    return list(found.values())


def _real_path(recording: str, settings: Settings) -> str:
    """Returns the path of a report without links; any other recording as it is."""
    meant = find_meaning(recording, settings)
    return os.path.realpath(meant.path) if isinstance(meant, ReportPath) else recording


def _show_run(run: Run, settings: Settings, kernel_name: str | None, *, full: bool) -> RecordingOverview:
    """Returns the sheets of an open run, in the order of their index, with every metric if `full`."""
    if not run.manifest.is_profiled:
        return RecordingOverview(run, [], timing_of(run, settings))
    (kernels,) = choose_kernels([run], kernel_name)
    sheets: list[SheetFinding] = []
    for kernel in kernels:
        if len(kernels) > 1:
            settings.progress(f"examining {len(sheets) + 1} of {len(kernels)} kernels")
        sheets.append(sheet_of(run, kernel, settings, full=full))
    settings.progress("")
    if any(one.causes_unseen for one in sheets):
        fuller = find_fuller_run(run, settings)
        sheets = [with_fields(one, fuller_run=fuller) if one.causes_unseen else one for one in sheets]
    sheets.sort(key=lambda one: -(one.total_ns or 0.0))
    return RecordingOverview(run, sheets, timing_of(run, settings) if run.table("timings").num_rows else None)


def sheet_of(run: Run, kernel: str, settings: Settings, *, full: bool = True) -> SheetFinding:
    """Returns the sheet of the kernel with exactly this name, with every metric if `full`."""
    return derive_sheet(profile_run(run, kernel, settings), full, diagnose_once)


def timing_of(run: Run, settings: Settings) -> TimingSheet:
    """Returns the times of a run without the profiler, with the work per second by the work that its ladder declares."""
    return derive_timing_sheet(run, work_of(run, settings), how_to_profile(run, settings))


def find_hot_lines(
    run: Run, settings: Settings, kernel_name: str | None
) -> tuple[Profile, dict[str, float], SourceLines | None]:
    """Returns the profile of the one kernel meant, its stalls, and its source lines or None."""
    profile = profile_one(run, settings, kernel_name)
    return profile, derive_stalls(profile), find_lines(run, settings, kernel_name)


def find_lines(run: Run, settings: Settings, kernel_name: str | None) -> SourceLines | None:
    """Returns the instructions and stalls of each source line of one kernel, or None if the run holds no lines.

    Of several kernels that are meant, it is the one that takes most of the time.
    """
    (profile,), _ = profile_longest([run], settings, kernel_name)
    return find_source_lines(run, profile.kernel) if profile.kernel else None


def find_fuller_run(run: Run, settings: Settings) -> FullerRun | None:
    """Returns the newest run of the same rung, workload and GPU whose diagnosis lacks nothing; None if there is none.

    It looks only among the runs of the rung with other presets: their names say what they are, so that few are opened. If this run
    has samples itself, and lacks something all the same, so will the others.
    """
    manifest = run.manifest
    if not run.stored or manifest.ladder is None or manifest.kernel is None or SAMPLED in manifest.sections:
        return None
    store = settings.open_store()
    ids = store.ids()
    names = set(names_of_kernel(manifest.kernel, manifest.ladder, {one.name for one in ids}))
    others = [one for one in ids if one.name in names - {manifest.name}]
    runs_of_name = Counter(one.name for one in others)
    newest = others[-_MOST_ALIKE:]
    store.read_ahead(newest)
    for run_id in reversed(newest):
        with suppress(RunUnusable):  # as it was not asked for, its damage is not reported
            other = store.open(run_id)
            if _same_work(other.manifest, manifest) and _lacks_nothing(other, settings):
                # One of several runs of a name may not be the one that the name means, so it goes by its id.
                name = run_id.name if runs_of_name[run_id.name] == 1 else str(run_id)
                return FullerRun(name, other.manifest.recorded)
    return None


def _lacks_nothing(run: Run, settings: Settings) -> bool:
    """Returns whether the diagnosis of each kernel has all evidence; a run without samples is not even read."""
    if SAMPLED not in run.manifest.sections:
        return False
    kernels = [kernel.name for kernel in run.manifest.kernels]
    return not any(diagnose_once(profile_run(run, kernel, settings)).unseen for kernel in kernels)


def _same_work(one: Manifest, other: Manifest) -> bool:
    kernels = [{kernel.name for kernel in manifest.kernels} for manifest in (one, other)]
    return kernels[0] == kernels[1] and (one.workload, one.gpus) == (other.workload, other.gpus)


def find_other_workloads(source: str, run: Run, settings: Settings) -> list[str]:
    """Returns the other sizes stored under the run's name, newest first; nothing if the user gave a run id or a file."""
    if not is_choice(source, run, settings):
        return []
    store = settings.open_store()
    alike = [run_id for run_id in store.ids() if run_id.name == run.manifest.name][-_MOST_ALIKE:]
    store.read_ahead(alike)
    found: dict[str, None] = {}
    for run_id in reversed(alike):
        with suppress(RunUnusable):  # other runs were not asked for, so their damage is not reported
            found[size_text(store.open(run_id).manifest.workload or {})] = None
    return [size for size in found if size and size != size_text(run.manifest.workload or {})]
