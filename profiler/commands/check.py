"""`prof check`: fails a CI job when a kernel got worse than a baseline."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from profiler.commands.options import (
    Format,
    FormatOption,
    KernelNameOption,
    LadderOption,
    RunsOption,
    Settings,
    settings_of,
    terminal_width,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from profiler.analyse.baseline import RunPair
    from profiler.analyse.check import CheckFinding, PairCheck
    from profiler.catalog.thresholds import Threshold
    from profiler.errors import ProfError

_REGRESSION = 1  # the only use of exit code 1


def check(
    context: typer.Context,
    candidate: Annotated[
        str | None,
        typer.Argument(
            help="A kernel number, a run id or name, or a .ncu-rep file [default: the newest of the baseline's name]."
        ),
    ] = None,
    baseline: Annotated[
        str | None,
        typer.Option(
            "--baseline",
            "-b",
            metavar="RUN",
            help="A kernel number, a run id or name, a report; or a folder of runs, for all in it.",
        ),
    ] = None,
    kernel_name: KernelNameOption = None,
    every: Annotated[bool, typer.Option("--all", help="Check every kernel common to both sides.")] = False,
    allow_unclear: Annotated[
        bool, typer.Option("--allow-unclear", help="Let pass what the launches cannot tell.")
    ] = False,
    summary: Annotated[
        Path | None,
        typer.Option("--summary", metavar="FILE", help="Append Markdown [default: $GITHUB_STEP_SUMMARY]."),
    ] = None,
    junit: Annotated[Path | None, typer.Option("--junit", metavar="FILE", help="Write JUnit XML.")] = None,
    schema: Annotated[bool, typer.Option("--schema", help="Print the JSON Schema of --format json.")] = False,
    runs: RunsOption = None,
    ladder: LadderOption = None,
    format: FormatOption = None,
) -> None:
    """Fail when a kernel got worse than its baseline.

    The exit code is 0 where nothing got worse beyond noise and beyond the limits of `prof.toml`
    or `pyproject.toml` (2 % of the duration where there are none), 1 where something did, 31 for
    recordings that are not comparable, 80 where the launches cannot tell. A recording is no baseline
    of its own: where both sides hold the same, nothing was checked, which is 21.

    Examples:

      prof check --baseline 20261122t012043z-gemm-6-b1dc935f48d2

      prof check --baseline before.ncu-rep after.ncu-rep

      prof check --baseline runs-of-main --junit check.xml
    """
    if schema:
        from profiler.analyse.check import CheckFinding
        from profiler.present.encode import json_schema

        print(json_schema(CheckFinding, "prof check --format json"))
        return
    if baseline is None:
        raise typer.BadParameter("give a baseline, for example: prof check --baseline RUN")

    from profiler.analyse.check import derive_finding

    settings = settings_of(context, runs, ladder, format)
    pairs, notes = _pairs(baseline, candidate, settings)
    checks, left_out = _checks(pairs, kernel_name, every)
    finding = derive_finding(checks, [*notes, *left_out])
    _write_files(finding, summary, junit, allow_unclear)
    print(_rendered(finding, settings.format))
    _finish(finding, allow_unclear)


def _pairs(baseline: str, candidate: str | None, settings: Settings) -> tuple[list[RunPair], list[str]]:
    """The runs to hold against each other, the baseline first, and notes on what has no counterpart."""
    from profiler.analyse.baseline import find_newer, find_newest, pair_runs, pair_stores
    from profiler.commands.sources import is_report_path, open_sources, require_ladder
    from profiler.errors import ReportNotFound
    from profiler.store.remote.places import location_of
    from profiler.store.runs.run_store import RunStore

    if _is_store(baseline):
        folder = location_of(baseline)
        if candidate is None:
            candidates = RunStore(settings.runs_to_read)
            require_ladder(settings, lambda: candidates)
            pairs, notes = pair_stores(RunStore(folder), candidates)
            for run in {id(run): run for pair in pairs for run in pair}.values():
                run.verify_reports()
            return pairs, notes
        if is_report_path(candidate):
            raise typer.BadParameter(
                "against a folder of runs, name a stored run: a report has no name there"
            )
        (after,) = open_sources([candidate], settings, timed=True)
        before = find_newest(RunStore(folder), after)
        before.verify_reports()
        return [pair_runs(before, after)], []
    if is_report_path(baseline) and not Path(baseline).exists():
        raise ReportNotFound(f"{baseline}: no such file or folder")
    if candidate is not None:
        before, after = open_sources([baseline, candidate], settings, timed=True)
        return [pair_runs(before, after)], []
    if is_report_path(baseline):
        raise typer.BadParameter("give a candidate too: prof check --baseline before.ncu-rep after.ncu-rep")
    (before,) = open_sources([baseline], settings, timed=True)
    after = find_newer(RunStore(settings.runs_to_read), before)
    after.verify_reports()
    return [(before, after)], []


def _is_store(baseline: str) -> bool:
    """A folder or a URL of runs, not one run."""
    from profiler.store.remote.files import is_url

    folder = Path(baseline)
    return is_url(baseline) or (folder.is_dir() and not (folder / "run.json").exists())


def _checks(pairs: list[RunPair], kernel_name: str | None, every: bool) -> tuple[list[PairCheck], list[str]]:
    """What is wrong with one of several pairs must not hide a regression of another."""
    from profiler.analyse.baseline import title_of
    from profiler.analyse.compare.changes import unmatched_kernels
    from profiler.catalog.thresholds import find_thresholds
    from profiler.errors import ComparisonError, MetricNotFound

    thresholds = find_thresholds(Path.cwd())
    checks: list[PairCheck] = []
    notes = [f"limits from {thresholds.path}"] if thresholds.path else []
    for pair in pairs:
        title = title_of(pair[1])
        try:
            checks += _kernel_checks(title, pair, kernel_name, every, thresholds.limits)
            alone = unmatched_kernels(*pair, kernel_name) if every else []
        except (ComparisonError, MetricNotFound) as error:
            if len(pairs) == 1:
                raise
            checks.append(_refused(title, pair, kernel_name, error))
        else:
            notes += [f"{title}: on one side only, so not checked: {kernel}" for kernel in alone]
    return checks, notes


def _kernel_checks(
    title: str, pair: RunPair, kernel_name: str | None, every: bool, limits: Sequence[Threshold]
) -> list[PairCheck]:
    """Under the title; with the kernel's name where there are several."""
    from profiler.analyse.check import check_pair
    from profiler.analyse.compare.changes import profile_pairs

    profiles = list(profile_pairs(*pair, kernel_name, every))
    names = [f"{title}: {right.kernel}" if len(profiles) > 1 else title for _, right in profiles]
    return [check_pair(name, *sides, limits) for name, sides in zip(names, profiles, strict=True)]


def _refused(title: str, pair: RunPair, kernel_name: str | None, error: ProfError) -> PairCheck:
    from profiler.analyse.check import PairCheck

    before, after = (run.manifest.run_id if run.stored else run.label for run in pair)
    reasons = [reason for reason in (error.message, error.remedy) if reason]
    return PairCheck(title, kernel_name or "", before, after, "not_comparable", reasons, [], [])


def _rendered(finding: CheckFinding, format: Format) -> str:
    from profiler.present import check as page

    if format is Format.json:
        from profiler.present.encode import to_json

        return to_json(finding)
    if format is Format.csv:
        return page.check_csv(finding)
    if format is Format.markdown:
        return page.check_markdown(finding)
    from profiler.present.terminal import wants_colour

    return page.check_text(finding, colour=wants_colour(sys.stdout.isatty()), width=terminal_width())


def _write_files(
    finding: CheckFinding, summary: Path | None, junit: Path | None, allow_unclear: bool
) -> None:
    """Before anything is printed: whoever reads the output may be gone."""
    from profiler.errors import OutputNotWritable
    from profiler.present.check import check_junit, check_markdown

    summary = summary or Path(os.environ.get("GITHUB_STEP_SUMMARY", ""))
    written = [(summary, "a", check_markdown)] if summary.name else []
    if junit is not None:
        written.append((junit, "w", lambda finding: check_junit(finding, allow_unclear=allow_unclear)))
    for path, mode, render in written:
        try:
            with path.open(mode, encoding="utf-8") as file:
                file.write(f"{render(finding)}\n")
        except OSError as error:
            raise OutputNotWritable(f"{path}: cannot be written: {error.strerror}") from None


def _finish(finding: CheckFinding, allow_unclear: bool) -> None:
    from profiler.errors import CheckUndecided, NotComparable
    from profiler.present.check import sentence

    if finding.outcome == "regression":
        raise typer.Exit(_REGRESSION)
    if finding.outcome == "not_comparable":
        raise NotComparable(
            sentence(finding),
            remedy="Record both sides the same way; `prof compare --force` shows their difference all the same.",
        )
    if finding.outcome == "unclear" and not allow_unclear:
        raise CheckUndecided(sentence(finding))
