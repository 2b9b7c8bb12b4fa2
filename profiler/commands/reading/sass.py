"""`prof sass` shows the machine code of one hot loop, or of two side by side."""

from __future__ import annotations

import os
import select
import sys
import termios
import tty
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

from typer import Argument, BadParameter, Option

from profiler.commands.shared import options
from profiler.commands.shared.misuse import Misuse
from profiler.commands.shared.output import print_answer, print_document
from profiler.text import printable

if TYPE_CHECKING:
    from profiler.analyse.code.machine_code import CodeView


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
    reveal: Annotated[
        bool, Option("--reveal", help="Show the first kernel, wait for a key, then show the second.")
    ] = False,
    schema: options.SchemaOption = False,
    settings: options.ReadingSettings,
) -> None:
    """Show the machine code of a hot loop, or of two side by side.

    `prof` finds the hot loop by its execution counts, or by its structure where nothing was counted. It traces the
    loop's FMAs (fused multiply-adds) to the loads that feed them. A k-step is one FMA into every accumulator; A is
    the operand that neighbours in a row of the result share.

    Examples:

      prof sass 5 6

      prof sass 6 --listing

      prof sass before.ncu-rep after.ncu-rep --kernel-name 'gemm'

      prof sass before.cubin after.cubin

      prof sass 5 6 --reveal
    """
    if schema:
        from profiler.analyse.code.machine_code import MachineCode
        from profiler.commands.shared.failure import print_schema

        print_schema("sass", MachineCode, brief=False)
        return
    if before is None:
        raise Misuse("give a kernel, or two to put beside each other: `prof sass 5 6`")

    from profiler.ask.code import find_machine_code

    if reveal and (after is None or settings.format != "table"):
        raise BadParameter(
            "it shows two kernels in a terminal: prof sass 5 6 --reveal", param_hint="--reveal"
        )
    if listing and settings.format == "json":
        raise BadParameter("for programs there is --format csv --listing", param_hint="--listing")
    chosen = replace(settings, size=size, nvtx=nvtx, launch=launch)
    view = find_machine_code(before, after, chosen, kernel_name=kernel_name, whole=full)
    if reveal:
        _reveal(view, listing)
        return
    from profiler.present.documents.code import code_document

    print_answer(view.finding, lambda: code_document(view, listing=listing), settings.format, full=full)


def _reveal(view: CodeView, listing: bool) -> None:
    """Prints the first kernel, waits for a key if there is a keyboard, then prints the second and what changed."""
    from profiler.present.documents.code import changes_document, code_document

    print_document(code_document(view.side(0), listing=listing), "table")
    sys.stdout.flush()
    _wait_for_key(f"any key shows {view.finding.kernels[1].label} ")
    print()
    print_document(code_document(view.side(1), listing=listing), "table")
    print()
    print_document(changes_document(view.finding), "table")


def _wait_for_key(prompt: str) -> None:
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return
    keyboard, prompt = sys.stdin.fileno(), printable(prompt)
    before = termios.tcgetattr(keyboard)
    try:
        tty.setcbreak(keyboard)  # a key without Enter; interrupts still work
        print(prompt, end="", file=sys.stderr, flush=True)
        # An interrupt that comes just before a wait begins does not end that wait: so none is long.
        while not select.select([keyboard], [], [], 0.1)[0]:
            pass
        os.read(keyboard, 1)
    finally:
        termios.tcsetattr(keyboard, termios.TCSAFLUSH, before)  # drops the rest of what the key sent
        print("\r" + " " * len(prompt), end="\r", file=sys.stderr, flush=True)
