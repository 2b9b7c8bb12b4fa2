"""`prof build` compiles a ladder's kernels."""

from __future__ import annotations

import re
import sys
from typing import Annotated

from typer import Option

from profiler.ask.named.ladders import open_ladder
from profiler.commands.shared import options
from profiler.commands.shared.ladders import build_errors, build_rungs, choose_rungs, raise_failures
from profiler.commands.shared.misuse import Misuse
from profiler.commands.shared.output import print_document
from profiler.errors import GpuNotFound
from profiler.measuring.rungs.resources import compiled_facts, misfit_text
from profiler.measuring.tools.gpus import find_gpu
from profiler.present.documents.rungs import build_row, built_document
from profiler.text import printable


def build(
    *,
    kernel: options.KernelOption = None,
    arch: Annotated[
        str | None,
        Option(metavar="sm_90", help="Architecture to compile for [default: that of this machine's GPU]."),
    ] = None,
    jobs: options.JobsOption = None,
    settings: options.LadderSettings,
) -> None:
    """Compile what changed, with a record beside each binary.

    The record holds the compiler's flags, versions and hashes. With --arch, you need no GPU.

    Examples:
      prof build
      prof build --kernel 5 --kernel 6 --arch sm_90
    """
    if arch is not None and not re.fullmatch(r"sm_\d{2,3}", arch):
        raise Misuse(f"--arch is a name such as sm_90, not '{arch}'")
    opened = open_ladder(settings)
    kernels = choose_rungs(opened, kernel)
    if not any(one.is_compiled for one in kernels):
        print(
            printable(f"ladder '{opened.name}': nothing to compile, no source ends in .cu"), file=sys.stderr
        )
        return
    done = build_rungs(opened, kernels, arch or _arch_here(), settings, jobs)
    rungs = [built for _, built in sorted(done.items())]
    rows = [build_row(built, compiled_facts(built)) for built in rungs]
    if len(rows) > 1 or not any(built.error for built in done.values()):
        print_document(built_document(rows), settings.format)
    for built in rungs:
        if misfit := misfit_text(built):
            print(printable(f"{built.kernel}: no registers: {misfit}"), file=sys.stderr)
    raise_failures(build_errors(done, "failed"), len(done), "kernels did not compile")
    unavailable = build_errors(done, "unavailable")
    # A missing library is a failure if the kernel was asked for by number, or nothing else was built.
    if unavailable and (kernel or len(unavailable) == len(done)):
        raise unavailable[0]


def _arch_here() -> str:
    try:
        return find_gpu().arch
    except GpuNotFound as error:
        error.remedy = "Name the architecture to compile for: --arch sm_90 is that of an H100 or H200."
        raise
