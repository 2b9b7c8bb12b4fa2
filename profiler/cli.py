"""The command line: the verbs, the options they share, and the one error boundary.

Start-up is part of the product: this module imports typer, the verbs' signatures and
nothing heavier. Each verb imports what it needs when it runs.
"""

from __future__ import annotations

import atexit
import gc
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from io import TextIOWrapper
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup
from typer.main import get_command

from profiler.commands import (
    build,
    check,
    collect,
    compact,
    compare,
    doctor,
    export,
    ingest,
    ladder,
    list_runs,
    mcp,
    metrics,
    notebook,
    presets,
    query,
    report,
    sass,
    show,
    time_kernels,
    tune,
    verify,
    worker,
)
from profiler.commands.options import FormatOption, Given, GlobalRunsOption, LadderOption
from profiler.errors import InternalError, ProfError

_INTERRUPTED = 130
_BROKEN_PIPE = 141
# What a verb that answers once makes lives until it ends: looking for garbage every 700 objects took 7 % of `prof compare`.
_GC_THRESHOLD = 50_000
_FLAGS = ("--quiet", "-q", "--verbose", "-v")


class _Verbs(TyperGroup):
    """Typer would end a broken pipe with exit code 1, which here means a regression."""

    def make_context(self, *arguments: Any, **options: Any) -> Any:
        with _quiet_pipe():  # prints the help
            return super().make_context(*arguments, **options)

    def invoke(self, ctx: Any) -> Any:
        with _quiet_pipe():
            return super().invoke(ctx)


@contextmanager
def _quiet_pipe() -> Iterator[None]:
    """The reader of a pipe has gone, as in `prof list | head`: nothing is wrong."""
    try:
        yield
    except BrokenPipeError:
        _discard_output()
        raise typer.Exit(_BROKEN_PIPE) from None


app = typer.Typer(
    name="prof",
    cls=_Verbs,
    help="Did my kernel change do what I believe it did?\n\nReads Nsight Compute reports, keeps them as Parquet, and compares kernels.",
    epilog="Two reports, nothing stored:  prof compare before.ncu-rep after.ncu-rep",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from profiler.store.runs.manifest import prof_version

        print(f"prof {prof_version()}")
        raise typer.Exit


@app.callback()
def _root(
    context: typer.Context,
    runs: GlobalRunsOption = None,
    ladder: LadderOption = None,
    format: FormatOption = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print results and errors only.")] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Print the traceback of an error.")
    ] = False,
    version: Annotated[  # noqa: ARG001 - its callback does the work
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    context.obj = Given(runs=runs, ladder=ladder, format=format, quiet=quiet, verbose=verbose)


app.command("compare")(compare.compare)
app.command("ladder")(ladder.ladder)
app.command("check")(check.check)
app.command("show")(show.show)
app.command("sass")(sass.sass)
app.command("report")(report.report)
app.command("list")(list_runs.list_runs)
app.command("collect")(collect.collect)
app.command("ingest")(ingest.ingest)
app.command("worker")(worker.worker)
app.command("export")(export.export)
app.command("compact")(compact.compact)
app.command("build")(build.build)
app.command("verify")(verify.verify)
app.command("time")(time_kernels.time_kernels)
app.command("tune")(tune.tune)
app.command("query")(query.query)
app.command("metrics")(metrics.metrics)
app.command("doctor")(doctor.doctor)
app.command("presets")(presets.presets)
app.command("notebook")(notebook.notebook)
app.command("mcp")(mcp.mcp)


@atexit.register
def _leave_the_garbage() -> None:
    """Python looks for garbage once more when it ends, a sixth of `prof compare`; not in what is frozen.

    DuckDB says of all that is left that it leaked.
    """
    if "duckdb" not in sys.modules:
        gc.freeze()


def main() -> NoReturn:
    """Run a verb; whatever goes wrong ends here, as one message and one exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # a name that the locale cannot write is no failure
            stream.reconfigure(errors="backslashreplace")
    gc.set_threshold(_GC_THRESHOLD)
    verbs = get_command(_app_for(sys.argv[1:]))
    assert isinstance(verbs, TyperGroup)
    flags, words = split_flags(sys.argv[1:], verbs)
    verbose = "--verbose" in flags or "-v" in flags
    try:
        try:
            verbs(args=[*flags, *words], prog_name="prof")
        finally:
            sys.stdout.flush()
    except BrokenPipeError:
        _discard_output()
        sys.exit(_BROKEN_PIPE)
    except KeyboardInterrupt:
        _fail(ProfError("interrupted"), _INTERRUPTED, verbose=False)
    except ProfError as error:
        _fail(error, error.exit_code, verbose)
    except Exception as error:
        bug = InternalError(f"{type(error).__name__}: {error}")
        _fail(bug.with_traceback(error.__traceback__), bug.exit_code, verbose)
    sys.exit(0)


def _app_for(arguments: list[str]) -> typer.Typer:
    """The app with the verb that comes first alone: Typer reads the signatures of all that it has, one by one.

    With every verb where none comes first, so that help, completion and what is misspelled know them all.
    """
    verb = next((word for word in arguments if word not in _FLAGS), None)
    asked = [one for one in app.registered_commands if one.name == verb]
    if not asked:
        return app
    alone = copy(app)
    alone.registered_commands = asked
    return alone


def split_flags(arguments: list[str], verbs: TyperGroup) -> tuple[list[str], list[str]]:
    """`prof compare 5 6 --verbose` is what people type: these flags may stand anywhere but where a value is expected."""
    flags: list[str] = []
    words: list[str] = []
    command: Any = verbs
    is_value = False
    for place, word in enumerate(arguments):
        if word == "--" and not is_value:
            return flags, [*words, *arguments[place:]]
        if word in _FLAGS and not is_value:
            flags.append(word)
            continue
        words.append(word)
        if command is verbs and not is_value:
            command = verbs.commands.get(word, verbs)
        is_value = not is_value and word in _valued_options(command)
    return flags, words


def _valued_options(command: Any) -> set[str]:
    """Those that the next word belongs to."""
    options = [one for one in command.params if one.param_type_name == "option" and not one.is_flag]
    return {name for one in options for name in one.opts}


def _discard_output() -> None:
    """So that nothing is left to flush when Python ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _fail(error: ProfError, exit_code: int, verbose: bool) -> NoReturn:
    from profiler.text import printable

    lines = [f"prof: {error.message}", *error.details]
    if verbose:
        lines = [*_traceback_lines(error), *lines]
    if error.remedy:
        lines.append(f"      {error.remedy}")
    print("\n".join(printable(line) for line in lines), file=sys.stderr)
    sys.exit(exit_code)


def _traceback_lines(error: BaseException) -> Iterator[str]:
    """The frames as Python prints them; a message on one line, whatever names it holds."""
    from traceback import format_exception

    for part in format_exception(error):
        if part.startswith((" ", "Traceback (", "\n")):
            yield from part.splitlines()
        else:
            yield part.rstrip("\n")
