"""`prof check` fails a CI job when a kernel got worse than a baseline."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from typer import Argument, BadParameter, Exit, Option

from profiler.analyse.check import CheckFinding
from profiler.ask.check import accept_changes, check as ask, holds_recordings, is_store
from profiler.ask.code import check_machine_code
from profiler.ask.named.references import is_report_path
from profiler.catalog.project import limit_of
from profiler.commands.shared import options
from profiler.commands.shared.failure import print_schema
from profiler.commands.shared.misuse import Misuse
from profiler.commands.shared.output import error_lines, print_answer
from profiler.errors import CheckUndecided, NotComparable, OutputNotWritable, ProfError, RunNotFound
from profiler.present.document import Document
from profiler.present.documents.check import check_document, check_error_document
from profiler.present.documents.code import code_check_document
from profiler.present.render.junit import check_junit, error_junit
from profiler.present.render.markdown import document_markdown
from profiler.store.disk import require_folder_of
from profiler.store.remote.urls import is_url

_REGRESSION = 1  # the only use of exit code 1
_SMALLEST_PCT = 0.1  # a person who types less without a % may mean a fraction


def check(
    *,
    candidate: Annotated[
        str | None,
        Argument(
            help="Run to check: a kernel number, a run id or name, or a .ncu-rep file; or a folder of runs or reports [default: the newest run with the baseline's name, of --runs]."
        ),
    ] = None,
    baseline: Annotated[
        str | None,
        Option(
            "--baseline",
            "-b",
            metavar="RUN",
            help="Run to check against: a kernel number, a run id or name, or a .ncu-rep file; or a folder of runs or reports, to check all that have a counterpart in it.",
        ),
    ] = None,
    kernel_name: options.KernelNamesOption = None,
    every: Annotated[bool, Option("--all", help="Check every kernel that both sides have.")] = False,
    sass: Annotated[
        bool,
        Option(
            "--sass",
            help="Check the machine code instead: of cubins, object files, fat binaries, Triton's cache, reports or runs.",
        ),
    ] = False,
    allow_unclear: Annotated[
        bool,
        Option(
            "--allow-unclear",
            help="Exit with 0 also when the result is unclear, or the baseline has what the candidate lacks.",
        ),
    ] = False,
    max_slower: Annotated[
        str | None,
        Option(
            metavar="PCT",
            help="Percent that the duration may rise, for example 2% [default: from the project's file, else 2%].",
        ),
    ] = None,
    summary: Annotated[
        Path | None,
        Option(
            metavar="FILE", help="Append the result to this file as Markdown [default: $GITHUB_STEP_SUMMARY]."
        ),
    ] = None,
    junit: Annotated[
        Path | None, Option(metavar="FILE", help="Write the result to this file as JUnit XML.")
    ] = None,
    accept: Annotated[
        str | None,
        Option(
            metavar="REASON",
            help="Accept what got worse, was removed or renamed: write the new figures, who, when and this reason to prof.accepted.jsonl, which later checks read.",
        ),
    ] = None,
    brief: options.BriefOption = False,
    full: options.FullJsonOption = False,
    schema: options.SchemaOption = False,
    settings: options.ReadingSettings,
) -> None:
    """Fail when a kernel got worse than its baseline.

    A kernel got worse if a metric is worse beyond noise and beyond the limits in `prof.toml` or `pyproject.toml`.
    Without limits there, only the duration counts, and it may rise by 2 %. If two folders hold the same recordings,
    the check passes and says that nothing was checked.

    \b
    Limits are in percent of the baseline. In pyproject.toml, the table
    [check] is called [tool.prof.check]:
      [check]
      duration_ns.worse_pct = 3   # 3 % slower is still fine
      registers.rise_pct = 0      # not one register more
      l2_hit_pct.fall_pct = 5

    \b
    The exit code is
      0   if nothing got worse;
      1   if something did;
      21  if there is no pair to check: one folder or one recording on
          both sides, or two folders with no recording in common;
      31  if the recordings are not comparable;
      32  if it is not clear which kernel is meant, and 33 if none matches -k;
      40  if a metric with a limit was not recorded;
      80  if the result is unclear, the baseline has a recording that the
          candidate lacks, or the kernels have different names, unless
          both recordings say what they worked on, or -k matches both;
      81  if the file of limits, or of what was accepted, is wrong.

    Examples:
      prof check --baseline before.ncu-rep after.ncu-rep --max-slower 5%
      prof check --baseline 6 5
      prof check --baseline runs-of-main --junit check.xml
      prof check --baseline runs-of-main runs-of-the-change
      prof check --baseline runs-of-main --accept 'the new mask costs 4 %'
      prof check --sass --baseline before.cubin after.cubin
    """
    if schema:
        print_schema("check", CheckFinding)
        return
    if baseline is None:
        words = shlex.join(("prof", "check", "--baseline", "RUN", *([candidate] if candidate else [])))
        raise Misuse(f"give a baseline: `{words}`")

    if sass:
        _check_machine_code(baseline, candidate, settings)
        return
    _check_choice(baseline, candidate, settings)
    first_kernel, other_kernel = options.of_each_side("-k", kernel_name)
    if other_kernel is not None and is_store(baseline):
        raise Misuse("two -k choose the kernels of two recordings; for folders, give one")
    limit = None if max_slower is None else _percent(max_slower)
    if accept is not None and not accept.strip():
        raise BadParameter("say why the change is accepted", param_hint="'--accept'")
    for file in filter(None, (summary, junit)):
        require_folder_of(file)
    try:
        finding = ask(
            baseline,
            candidate,
            settings,
            kernel_name=first_kernel,
            other_kernel=other_kernel,
            every=every,
            max_slower_pct=limit,
        )
    except ProfError as error:  # the files that a job shows say it too
        lines = error_lines(error)
        _write_files(summary, junit, check_error_document(lines), error_junit(type(error).__name__, lines))
        raise
    if accept is not None:
        finding = _accept(finding, accept, settings)
    document = check_document(finding)
    _write_files(summary, junit, document, check_junit(finding, allow_unclear=allow_unclear))
    print_answer(finding, lambda: document, settings.format, full=full, brief=brief)
    _finish(finding, allow_unclear)


def _accept(finding: CheckFinding, reason: str, settings: options.VerbSettings) -> CheckFinding:
    """Accepts what got worse or is gone. Changes that were accepted before stay as they were, so that a job may run the command again."""
    before = dict.fromkeys(_accepted_before(finding))
    finding, path = accept_changes(finding, reason)
    if path is not None:
        settings.say(f"Wrote {path}: commit it with the change")
    elif not before:
        raise BadParameter(f"nothing to accept: {finding.headline.what}", param_hint="'--accept'")
    for one in before:
        settings.say(f"Accepted already by {one}")
    return finding


def _accepted_before(finding: CheckFinding) -> Iterator[str]:
    for pair in finding.pairs:
        yield from (one.accepted for one in pair.checks if one.is_accepted)
        yield from filter(None, [pair.doubt_accepted])
    yield from (one.accepted for one in finding.removed)


def _percent(text: str) -> float:
    try:
        value = limit_of(float(text.removesuffix("%")))
    except ValueError:
        raise BadParameter(f"'{text}' is not a percentage such as 2%", param_hint="'--max-slower'") from None
    if 0 < value < _SMALLEST_PCT and not text.endswith("%"):
        raise BadParameter(
            f"{text} means {text} %; give {100 * value:g}% for the fraction {text}, or {text}% for what it says",
            param_hint="'--max-slower'",
        )
    return value


def _check_machine_code(baseline: str, candidate: str | None, settings: options.VerbSettings) -> None:
    """Fails if a function's code is not that of the baseline; renamed registers and moved addresses are no change."""
    if candidate is None:
        raise Misuse("give a candidate too: `prof check --sass --baseline before.cubin after.cubin`")
    finding = check_machine_code(baseline, candidate, settings)
    print_answer(finding, lambda: code_check_document(finding), settings.format)
    if finding.changed:
        raise Exit(_REGRESSION)


def _check_choice(baseline: str, candidate: str | None, settings: options.VerbSettings) -> None:
    """Refuses a report on a side where a stored run is needed."""
    if is_store(baseline):
        is_folder = candidate is not None and holds_recordings(candidate, settings)
        if candidate is not None and not is_folder and is_report_path(candidate, settings):
            if not is_url(baseline) and not holds_recordings(baseline, settings):
                raise RunNotFound(
                    f"{baseline}: no runs are stored there",
                    remedy="Give a report, or a folder of runs or reports, as the baseline.",
                )
            if is_url(baseline) or settings.open_store(Path(baseline)).ids():
                raise Misuse(
                    "against a folder of runs, name a stored run or another such folder: a report has no counterpart there; "
                    "`prof ingest REPORT --runs DIR` stores it"
                )
    elif candidate is None and is_report_path(baseline, settings) and Path(baseline).exists():
        raise Misuse("give a candidate too: `prof check --baseline before.ncu-rep after.ncu-rep`")


def _write_files(summary: Path | None, junit: Path | None, document: Document, xml: str) -> None:
    """Writes the files before anything is printed, since printing fails when the reader of a pipe has gone."""
    summary = summary or Path(os.environ.get("GITHUB_STEP_SUMMARY", ""))
    written = [(summary, "a", document_markdown(document))] if summary.name else []
    if junit is not None:
        written.append((junit, "w", xml))
    for path, mode, text in written:
        try:
            with path.open(mode, encoding="utf-8") as file:
                file.write(f"{text}\n")
        except OSError as error:
            raise OutputNotWritable(f"{path}: cannot be written: {error.strerror}") from None


def _finish(finding: CheckFinding, allow_unclear: bool) -> None:
    if finding.outcome == "regression":
        raise Exit(_REGRESSION)
    if finding.outcome == "not_comparable":
        raise NotComparable("the check does not pass: not comparable", remedy=finding.headline.next)
    if finding.outcome == "unclear" and not allow_unclear:
        raise CheckUndecided(
            "the check does not pass: unclear",
            remedy=f"{finding.headline.next} Or let it pass with --allow-unclear.",
        )
