"""`prof sass` shows the machine code of one hot loop, or of two side by side."""

from __future__ import annotations

from typing import Annotated

import typer

from profiler.commands.shared.options import (
    Format,
    FormatOption,
    GpuOption,
    KernelNameOption,
    LadderOption,
    NvtxOption,
    RunSizeOption,
    RunsOption,
    SchemaOption,
    settings_of,
)
from profiler.commands.shared.output import print_answer


def sass(
    context: typer.Context,
    before: Annotated[
        str | None,
        typer.Argument(
            help="A kernel number, a run id or name, a .ncu-rep file, or a file or folder of machine code."
        ),
    ] = None,
    after: Annotated[
        str | None, typer.Argument(help="A second kernel to show beside it, named in the same ways.")
    ] = None,
    size: RunSizeOption = None,
    kernel_name: KernelNameOption = None,
    nvtx: NvtxOption = None,
    full: Annotated[
        bool, typer.Option("--full", help="Show the whole function instead of its hot loop.")
    ] = False,
    listing: Annotated[
        bool, typer.Option("--listing", help="Show every instruction instead of counts by opcode.")
    ] = False,
    schema: SchemaOption = False,
    gpu: GpuOption = None,
    runs: RunsOption = None,
    ladder: LadderOption = None,
    format: FormatOption = None,
) -> None:
    """Show the machine code of a hot loop, or of two side by side.

    Finds the hot loop by its execution counts, or by its structure where nothing was counted, and traces its FMAs (fused multiply-adds) to the loads that feed them.
    A k-step is one FMA into every accumulator; A is the operand that the FMAs of neighbours in a row of the result
    share.

    Examples:

      prof sass 5 6

      prof sass 6 --listing

      prof sass before.ncu-rep after.ncu-rep --kernel-name 'gemm'

      prof sass before.cubin after.cubin
    """
    if schema:
        from profiler.analyse.code.machine_code import MachineCode
        from profiler.present.render.json import json_schema

        print(json_schema(MachineCode, "prof sass --format json"))
        return
    if before is None:
        raise typer.BadParameter("give a kernel, or two to put beside each other: prof sass 5 6")

    from profiler.ask.code import find_machine_code

    settings = settings_of(context, runs, ladder, format, gpu)
    if listing and settings.format is Format.json:
        raise typer.BadParameter("for programs there is --format csv --listing", param_hint="--listing")
    view = find_machine_code(
        before, after, settings, kernel_name=kernel_name, nvtx=nvtx, whole=full, size=size
    )
    from profiler.present.documents.code import code_document

    print_answer(view.finding, lambda: [code_document(view, listing=listing)], settings.format, full=full)
