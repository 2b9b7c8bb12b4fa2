"""`prof compare` shows what changed between two kernels."""

from __future__ import annotations

import shlex
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from profiler.commands.shared import options
from profiler.commands.shared.files import ChartOptions
from profiler.commands.shared.misuse import Misuse
from profiler.commands.shared.output import print_answer
from profiler.store.reports.near import files_in
from profiler.store.runs.file_names import REPORT_SUFFIXES
from profiler.text import printable

_SIDES = 2
_ONE_PAIR = "--chart draws one pair: choose it with --kernel-name"
_WHICH_TWO = (
    "give two kernels to compare, as in `prof compare a.ncu-rep b.ncu-rep` or `prof compare 5 6`; "
    "two of one report: `prof compare a.ncu-rep -k ONE -k OTHER`; "
    "or a run, to compare with the one before it: `prof compare mine`"
)


def compare(
    *,
    before: Annotated[
        str | None, Argument(help="A kernel number, a run id or name, or a .ncu-rep file.")
    ] = None,
    after: Annotated[
        str | None,
        Argument(
            help="The kernel to compare with it, named in the same ways [default: the same, with two --gpu, -k or --launch; else the newest run named, compared with the one before it]."
        ),
    ] = None,
    size: options.RunSizeOption = None,
    gpu: Annotated[
        list[str] | None,
        Option(
            metavar="NAME",
            help="Use only runs recorded on this GPU, such as h200; given twice, one for each side [default: any].",
        ),
    ] = None,
    kernel_name: options.KernelNamesOption = None,
    nvtx: options.NvtxOption = None,
    launch: options.LaunchesOption = None,
    every: Annotated[bool, Option("--all", help="Compare every kernel that both sides have.")] = False,
    metric: Annotated[
        list[str] | None,
        Option(
            metavar="NAME",
            help="Show this metric, by prof's or ncu's name, instead of the main ones; may be repeated.",
        ),
    ] = None,
    full: Annotated[
        bool,
        Option(
            "--full", help="Show every metric and opcode; without it, JSON is cut to the most important 8 KB."
        ),
    ] = False,
    force: options.ForceComparisonOption = False,
    picture: ChartOptions,
    brief: options.BriefOption = False,
    schema: options.SchemaOption = False,
    settings: options.RungSettings,
) -> None:
    """Compare two kernels: what changed, and how surely.

    With one name or number alone, it shows what your last change did: it compares the newest run with the last one
    before it of the same workload, arguments and GPU.

    If one side was only timed, and not profiled, `prof` compares the times alone. With two --gpu, it shows what the
    other GPU changes for one kernel. With two -k, it compares two kernels of one report, and with two --launch, two launches.

    Examples:
      prof compare before.ncu-rep after.ncu-rep
      prof compare before.ncu-rep after.ncu-rep --kernel-name 'gemm'
      prof compare both.ncu-rep -k naive -k tiled
      prof compare sweep.ncu-rep --launch 3 --launch 7
      prof compare mine
      prof compare 5 6
      prof compare 5 6 --size 2048
      prof compare 6 --gpu h200 --gpu h100
      prof compare 5 6 --format json
      prof compare 5 6 --chart what-changed.svg
    """
    if schema:
        from profiler.analyse.findings import ComparisonFinding, Comparisons
        from profiler.commands.shared.failure import print_schema

        # Which of the two the answer is follows from how many kernels both sides have.
        print_schema("compare", ComparisonFinding, Comparisons)
        return
    first_gpu, other_gpu = options.of_each_side("--gpu", gpu)
    first_kernel, other_kernel = options.of_each_side("-k", kernel_name)
    first_launch, other_launch = options.of_each_side("--launch", launch)
    if other_gpu is not None or other_kernel is not None or other_launch is not None:
        after = after or before
    if before is None or (after is None and _is_no_run(before)):
        raise Misuse(_two_of_a_folder(before) or _beside_a_report(before) or _WHICH_TWO)
    if picture.path is not None and every:
        raise Misuse(_ONE_PAIR)

    # The help of this verb is read most: what only an answer needs is imported here.
    from profiler.ask.compare import answer_of, compare as ask
    from profiler.present.documents.comparisons import answer_document

    comparisons = ask(
        before,
        after,
        replace(settings, gpu=first_gpu, size=size, nvtx=nvtx, launch=first_launch),
        kernel_name=first_kernel,
        other_kernel=other_kernel,
        every=every or None,
        metrics=metric or (),
        force=force,
        other_gpu=other_gpu,
        other_launch=other_launch,
    )
    if picture.path is not None and len(comparisons) > 1:
        raise Misuse(_ONE_PAIR)
    picture.draw(lambda charts: charts.comparison_chart(comparisons[0]))
    finding, wanted = answer_of(comparisons, every=every), tuple(metric or ())
    document = partial(answer_document, finding, full=full, wanted=wanted)
    print_answer(finding, document, settings.format, full=full, wanted=wanted, brief=brief)
    picture.report(settings)


def _beside_a_report(named: str | None) -> str:
    """Returns what to compare a report with, if a report alone was named; "" for anything else."""
    if named is None or not named.endswith(REPORT_SUFFIXES):
        return ""
    typed = printable(shlex.quote(named))
    return (
        f"name the report to compare this one with, as in `prof compare {typed} AFTER`; "
        f"or compare two of its kernels: `prof compare {typed} -k ONE -k OTHER`"
    )


def _is_no_run(named: str) -> bool:
    """Returns whether this names reports, which have no run before them."""
    return named.endswith(REPORT_SUFFIXES) or bool(_two_of_a_folder(named))


def _two_of_a_folder(named: str | None) -> str:
    """Returns how to compare two reports of a folder, whose name alone does not say which; "" for anything else."""
    held = files_in(Path(named)) if named and "\0" not in named else []
    if len(held) < _SIDES:
        return ""
    pair = shlex.join(map(str, held[:_SIDES]))
    others = (
        f", or one by one in a page: `prof report {shlex.quote(str(named))}`" if len(held) > _SIDES else ""
    )
    return printable(f"say which two of the {len(held)} reports in {named}: `prof compare {pair}`{others}")
