"""Checks whether kernels got worse than a baseline, beyond noise and beyond the project's limits."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from getpass import getuser
from itertools import chain
from pathlib import Path

from profiler.analyse.acceptance import apply_accepted, find_changes_to_accept
from profiler.analyse.check import CheckFinding, PairCheck, check_pair
from profiler.analyse.check_summary import derive_finding
from profiler.analyse.recording.kernel_choice import match_kernels, matching_kernels, names_both, pair_kernels
from profiler.analyse.recording.profile import Profile
from profiler.ask.baseline import Pairing, RunPair, find_newer, find_newest, pair_runs, pair_stores, title_of
from profiler.ask.named.ladders import require_ladder
from profiler.ask.named.references import is_report_path, open_named
from profiler.ask.named.settings import Settings
from profiler.ask.profiles import diagnose_once, profile_one, profile_pairs
from profiler.catalog.accepted import accepted_path, append_accepted, read_accepted
from profiler.catalog.project import Threshold, find_thresholds, limit_of
from profiler.errors import (
    ComparisonError,
    MetricNotFound,
    NotComparable,
    ProfError,
    ReportNotFound,
    RunNotFound,
    RunUnusable,
)
from profiler.store.remote.places import location_of
from profiler.store.remote.urls import is_url
from profiler.store.reports.near import files_in, what_is_near
from profiler.store.runs.file_names import holds_run
from profiler.store.runs.run import Run
from profiler.store.runs.run_store import RunStore
from profiler.text import printable


def check(
    baseline: str,
    candidate: str | None,
    settings: Settings,
    *,
    kernel_name: str | None,
    every: bool,
    max_slower_pct: float | None = None,
    other_kernel: str | None = None,
) -> CheckFinding:
    """Returns one outcome for each kernel, judged by the limits in the nearest `prof.toml` or `pyproject.toml`.

    `max_slower_pct` replaces the limit of the duration. The baseline is a run, a report, or a folder of either. Without
    a candidate, its newest counterpart is checked. With `other_kernel`, `kernel_name` chooses only the kernel of the
    baseline.
    """
    slower = None if max_slower_pct is None else slower_limit(max_slower_pct)
    pairing = _pair_up(baseline, candidate, settings, kernel_name)
    is_chosen = other_kernel is not None or names_both(kernel_name)
    thresholds = find_thresholds(Path.cwd())
    first, *others = thresholds.limits
    limits = [first if slower is None else replace(first, limit_pct=slower), *others]
    notes = [*pairing.notes, *([f"limits from {thresholds.path}"] if thresholds.path else [])]
    # A run that was left out may be the newest of its name, so nothing passes silently.
    left_out = chain.from_iterable(store.left_out.items() for store in pairing.stores)
    checks = [_refused(name, "", "", name, error=error) for name, error in left_out]
    gone: list[str] = []
    for pair in pairing.pairs:
        title = title_of(pair[1])
        try:
            _require_whole_reports(pair, settings)
            kernels = kernels_to_check(pair, settings, kernel_name, every=every, other_kernel=other_kernel)
            checks += _judged(title, list(kernels), limits, is_chosen=is_chosen)
            if every and other_kernel is None and all(run.manifest.kernels for run in pair):
                matched = pair_kernels(*pair, kernel_name)
                gone += [f"{title_of(pair[0])}: {kernel}" for kernel in matched.gone]
                notes += [
                    f"{title}: only in the candidate, so not checked: {kernel}" for kernel in matched.new
                ]
        except (ComparisonError, MetricNotFound, RunUnusable) as error:
            if len(pairing.pairs) == 1 and not checks:
                raise
            named = [run.manifest.run_id if run.stored else run.label for run in pair]
            checks.append(_refused(title, _only_kernel(pair[1], kernel_name), *named, error=error))
    finding = derive_finding(checks, notes, gone=gone, missing=pairing.missing, new=pairing.new)
    return apply_accepted(finding, read_accepted(accepted_path(Path.cwd())))


def slower_limit(max_slower_pct: object) -> float:
    """Returns the limit of the duration that a caller gives; raises an error that names the argument if it is none."""
    try:
        return limit_of(max_slower_pct)
    except (TypeError, ValueError) as error:
        raise type(error)(f"max_slower_pct: {error}; 5 means 5 %") from None


def accept_changes(finding: CheckFinding, why: str) -> tuple[CheckFinding, Path | None]:
    """Records that what got worse is accepted; returns the finding with it, and the file, or None for nothing to accept."""
    when = datetime.now(UTC).date().isoformat()
    changes = find_changes_to_accept(finding, when, _user(), printable(why))
    if not changes:
        return finding, None
    path = accepted_path(Path.cwd())
    append_accepted(path, changes)
    return apply_accepted(finding, changes), path


def _user() -> str:
    """Returns the name of the user, or the number if the system has no name for it, as in many containers."""
    try:
        return printable(getuser())
    except (KeyError, OSError):
        return str(os.getuid())


def is_store(baseline: str) -> bool:
    """Returns whether a baseline is a folder of runs or reports, or a URL of runs, rather than one run."""
    folder = Path(baseline)
    return is_url(baseline) or (folder.is_dir() and not holds_run(folder))


def holds_recordings(candidate: str, settings: Settings) -> bool:
    """Returns whether a candidate is a folder of runs or of reports; a folder of sources may have the name of a run."""
    folder = Path(candidate)
    if is_url(candidate) or not is_store(candidate):
        return False
    return bool(settings.open_store(folder).ids() or files_in(folder))


def kernels_to_check(
    pair: RunPair,
    settings: Settings,
    kernel_name: str | None,
    *,
    every: bool,
    other_kernel: str | None = None,
) -> Iterator[tuple[Profile, Profile]]:
    """Yields the kernels to check: the only pair of two runs, or `every` pair, which may be none.

    If one side holds timings alone, they are checked against the timings of the other.
    """
    before, after = pair
    if other_kernel is not None or not all(run.manifest.is_profiled for run in pair):
        yield (
            profile_one(before, settings, kernel_name),
            profile_one(after, settings, kernel_name if other_kernel is None else other_kernel),
        )
    elif every:
        yield from profile_pairs(before, after, settings, pair_kernels(before, after, kernel_name).pairs)
    else:
        pairs = match_kernels(before, after, kernel_name, every=False).pairs
        yield from profile_pairs(before, after, settings, pairs)


def _pair_up(baseline: str, candidate: str | None, settings: Settings, kernel_name: str | None) -> Pairing:
    """Returns the runs to compare, the baseline first, and what has no counterpart.

    An agent names one recording on each side.
    """
    is_agent = settings.reach is not None
    if not is_agent and is_store(baseline):
        return _pair_with_store(settings.open_store(location_of(baseline)), candidate, settings, kernel_name)
    if not is_agent and is_report_path(baseline, settings) and not Path(baseline).exists():
        raise ReportNotFound(f"{baseline}: no such file or folder; {what_is_near(Path(baseline))}")
    if candidate is not None:
        before, after = _open_sides([baseline, candidate], settings)
        return Pairing([pair_runs(before, after)])
    (before,) = _open_sides([baseline], settings)
    store = settings.open_store()
    return Pairing([(before, find_newer(store, before, settings.gpu))], stores=[store])


def _open_sides(references: list[str], settings: Settings) -> list[Run]:
    """Returns the recordings that are named. A name that no recording has may have meant a folder, which a check takes too."""
    try:
        return open_named(references, settings, timed=True)
    except RunNotFound as error:
        if not error.name or Path(error.name).exists() or settings.reach is not None:
            raise
        raise error.changed(
            f"{printable(error.name)}: neither a folder here nor a run ({error.message})"
        ) from None


def _pair_with_store(
    baseline: RunStore, candidate: str | None, settings: Settings, kernel_name: str | None
) -> Pairing:
    if candidate is not None and not holds_recordings(candidate, settings):
        (after,) = open_named([candidate], settings, timed=True)
        return Pairing([pair_runs(find_newest(baseline, after, settings.gpu), after)], stores=[baseline])
    candidates = settings.open_store(None if candidate is None else location_of(candidate))
    require_ladder(settings, lambda: candidates)
    return pair_stores(baseline, candidates, settings.gpu, kernel_name)


def _require_whole_reports(pair: RunPair, settings: Settings) -> None:
    for run in pair:
        if run.stored:
            run.verify_reports(left_elsewhere=settings.reach is None)


def _judged(
    title: str, kernels: Sequence[tuple[Profile, Profile]], limits: Sequence[Threshold], *, is_chosen: bool
) -> list[PairCheck]:
    """Returns the checks of a pair's kernels under its title, with the kernel's name if there are several."""
    names = [f"{title}: {after.kernel}" if len(kernels) > 1 else title for _, after in kernels]
    return [
        check_pair(name, *sides, limits, diagnose_once, chosen=is_chosen)
        for name, sides in zip(names, kernels, strict=True)
    ]


def _only_kernel(run: Run, kernel_name: str | None) -> str:
    """Returns the one kernel of a run that is meant; "" where there are several, or none."""
    names = [kernel.name for kernel in matching_kernels(run, kernel_name)]
    return names[0] if len(names) == 1 else ""


def _refused(title: str, kernel: str, before: str, after: str, *, error: ProfError) -> PairCheck:
    reasons = [reason for reason in (error.message, error.remedy) if reason]
    # If two recordings were not measured alike, the remedy depends on the question, and the headline says it.
    remedy = "" if isinstance(error, NotComparable) else error.remedy
    return PairCheck(
        name=title,
        kernel=kernel,
        before=before,
        after=after,
        outcome="not_comparable",
        refused=reasons,
        warnings=[],
        checks=[],
        next=remedy,
    )
