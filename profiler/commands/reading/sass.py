"""`prof sass` shows the machine code of one hot loop, or of two side by side."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from typer import Argument, BadParameter, Option

from profiler.commands.shared import options
from profiler.commands.shared.misuse import Misuse
from profiler.commands.shared.output import print_answer


def sass(
    *,
    before: Annotated[
        str | None,
        Argument(
            help="A kernel number, a run id or name, a .ncu-rep file, or a file or folder of machine code."
        ),
    ] = None,
    after: Annotated[
        str | None, Argument(help="A second kernel to show beside it, named in the same ways.")
    ] = None,
    size: options.RunSizeOption = None,
    kernel_name: options.KernelNameOption = None,
    nvtx: options.NvtxOption = None,
    launch: options.LaunchOption = None,
    full: Annotated[bool, Option("--full", help="Show the whole function instead of its hot loop.")] = False,
    listing: Annotated[
        bool, Option("--listing", help="Show every instruction instead of counts by opcode.")
    ] = False,
    schema: options.SchemaOption = False,
    settings: options.ReadingSettings,
) -> None:
    """Show the machine code of a hot loop, or of two side by side.

    `prof` finds the hot loop by its execution counts, or by its structure where nothing was counted. It traces the
    loop's FMAs (fused multiply-adds) to the loads that feed them. A k-step is one FMA into every accumulator; A is
    the operand that neighbours in a row of the result share.

    Examples:
      prof sass before.ncu-rep after.ncu-rep --kernel-name 'gemm'
      prof sass before.cubin after.cubin
      prof sass 5 6
      prof sass 6 --listing
    """
    if schema:
        from profiler.analyse.code.machine_code import MachineCode
        from profiler.commands.shared.failure import print_schema

        print_schema("sass", MachineCode, brief=False)
        return
    if before is None:
        raise Misuse(
            "give a kernel, or two to put beside each other: `prof sass before.ncu-rep after.ncu-rep` or `prof sass 5 6`"
        )

    from profiler.ask.code import find_machine_code

    if listing and settings.format == "json":
        raise BadParameter("for programs there is --format csv --listing", param_hint="--listing")
    chosen = replace(settings, size=size, nvtx=nvtx, launch=launch)
    view = find_machine_code(before, after, chosen, kernel_name=kernel_name, whole=full)
    from profiler.present.documents.code import code_document

    print_answer(view.finding, lambda: code_document(view, listing=listing), settings.format, full=full)
