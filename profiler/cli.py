"""The command line: the table of verbs, their shared options, and the one place that reports errors.

A verb's module and its imports are loaded only when that verb is called, so that every verb starts fast.
"""

from __future__ import annotations

import atexit
import gc
import os
import signal
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from importlib import import_module
from typing import Annotated, Any, NoReturn, cast

import typer
from typer.core import TyperGroup
from typer.main import get_command

from profiler.commands.shared.misuse import Misuse
from profiler.commands.shared.options import FormatOption, Given, GlobalRunsOption, LadderOption
from profiler.commands.shared.streams import Unwritable, discard_output, has_answered, prepare_streams
from profiler.commands.shared.verb import Verb, with_its_options
from profiler.commands.shared.window import folded_for_terminal
from profiler.commands.shared.wrong_turns import hint_for
from profiler.errors import InternalError, OutputNotWritable, PathUnusable, ProfError
from profiler.machine import find_shortage, require_memory
from profiler.store.tables.arrow_alone import import_arrow_alone
from profiler.text import shortened, without_capital

_USAGE = 2
_INTERRUPTED = 130
_BROKEN_PIPE = 141
_TERMINATED = 143
_PATH_WIDTH = 120
_LINE_WIDTH = 4000  # of a message, which may quote a name of a megabyte
# Commands are short-lived, so the garbage collector mostly wastes time: with Python's own threshold, `prof ladder` takes a quarter
# longer. It holds 45 MB more without it.
_GC_THRESHOLD = 2_000_000
_FLAGS = ("--quiet", "-q", "--verbose", "-v", "--no-pager")


# The verbs stand in the folders of `profiler.commands`, and so they do in the help.
HEADINGS = {"reading": "Read", "measuring": "Measure", "storing": "Keep and share"}
VERBS = {
    # verb: its module in `profiler.commands`, with a function of the same name; and the first line of its help
    "show": ("reading.show", "Show one recording: why it takes so long, and what to try."),
    "compare": ("reading.compare", "Compare two kernels: what changed, and how surely."),
    "ladder": ("reading.ladder", "Show a ladder: a series of kernels, and what each step gained."),
    "check": ("reading.check", "Fail when a kernel got worse than its baseline."),
    "sass": ("reading.sass", "Show the machine code of a hot loop, or of two side by side."),
    "report": ("reading.report", "Write a page: one HTML file with everything in it."),
    "list": ("reading.list_runs", "List what is stored."),
    "query": ("reading.query", "Ask the stored runs anything, in SQL."),
    "causes": ("reading.causes", "Print the causes that a diagnosis may name, or one of them."),
    "metrics": ("reading.metrics", "Print the catalogue of metrics, or one of them."),
    "presets": ("reading.presets", "Print the presets of `prof collect`."),
    "notebook": ("reading.notebook", "List, open or write a notebook over recorded runs."),
    "mcp": ("reading.mcp", "Serve these answers to coding agents, read-only."),
    "doctor": ("measuring.doctor", "Check what works on this machine, and say how to repair the rest."),
    "collect": ("measuring.collect", "Measure kernels: build, verify, time, profile and store them."),
    "build": ("measuring.build", "Compile what changed, with a record beside each binary."),
    "verify": ("measuring.verify", "Check every kernel's result against its reference."),
    "time": ("measuring.time_kernels", "Time every kernel without the profiler; store the timings."),
    "tune": ("measuring.tune", "Find the fastest values of a kernel's parameters."),
    "ingest": ("storing.ingest", "Store reports as runs, in Parquet."),
    "export": ("storing.export", "Write a run's reports for the Nsight Compute UI."),
    "compact": ("storing.compact", "Pack many small runs into few files."),
    "fsck": ("storing.fsck", "Examine everything that is stored; repair it with --repair."),
    "worker": ("storing.worker", "Lend this host's GPUs to a cluster until Ctrl-C."),
}


class _Commands(Mapping[str, Any]):
    """The verbs by name. Looking one up imports it."""

    def __getitem__(self, verb: str) -> Any:
        place, _ = VERBS[verb]
        return _command(place)

    def __iter__(self) -> Iterator[str]:
        return iter(VERBS)

    def __len__(self) -> int:
        return len(VERBS)


@cache
def _command(place: str) -> Any:
    module = import_module(f"profiler.commands.{place}")
    alone = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
    alone.command(cls=Verb)(with_its_options(getattr(module, place.rpartition(".")[2])))
    return get_command(alone)


class _Verbs(TyperGroup):
    """A group that imports a verb only when it is called, and ends quietly when a pipe breaks.

    Typer would exit with code 1 for a broken pipe, which here means a regression.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.commands = cast("dict[str, Any]", _Commands())  # typer only looks verbs up and never adds one

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002
        return list(VERBS)

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002
        widest = max(map(len, VERBS))
        for folder, heading in HEADINGS.items():
            verbs = {verb: text for verb, (place, text) in VERBS.items() if place.startswith(f"{folder}.")}
            with formatter.section(heading):
                formatter.write_dl([(verb.ljust(widest), text) for verb, text in verbs.items()])

    def make_context(self, *arguments: Any, **options: Any) -> Any:
        with _quiet_pipe(), _told_as_any_error():  # prints the help
            return super().make_context(*arguments, **options)

    def invoke(self, ctx: Any) -> Any:
        with _quiet_pipe():
            try:
                with _told_as_any_error():
                    return super().invoke(ctx)
            except KeyboardInterrupt:  # Typer would end without a word
                _fail(ProfError("interrupted"), _INTERRUPTED, verbose=False)


class _Mistyped(Exception):
    """The command line means something else than what was typed, or nothing. The error says what to type."""

    def __init__(self, message: str, remedy: str | None = None) -> None:
        super().__init__(message)
        self.error = ProfError(message, remedy=remedy)


@contextmanager
def _quiet_pipe() -> Iterator[None]:
    """Ends quietly when the reader of a pipe has gone, as in `prof list | head`."""
    try:
        yield
    except BrokenPipeError:
        discard_output()
        raise typer.Exit(_BROKEN_PIPE) from None


@contextmanager
def _told_as_any_error() -> Iterator[None]:
    """Lets `main` tell in the form of every other error what Typer, or a verb by `Misuse`, says of a mistyped command."""
    try:
        yield
    except Exception as raised:
        error: Any = raised  # of a class that Typer keeps to itself
        if not hasattr(error, "format_message") or error.exit_code != _USAGE:
            raise
        text: str = error.format_message()
        if not text or "\n" in text:  # several lines are the help that `prof` alone prints
            raise
        verb = error.ctx.command_path if error.ctx else "prof"
        remedy = None if isinstance(error, Misuse) else f"`{verb} --help` shows what it takes."
        raise _Mistyped(without_capital(text), remedy) from None


app = typer.Typer(
    name="prof",
    cls=_Verbs,
    help="`prof` says why a CUDA kernel takes as long as it does, what to change next, and what a change did.\n\nIt reads the reports of Nsight Compute, or records them, and keeps them as Parquet tables.",
    epilog="One report:  prof show a.ncu-rep    Two:  prof compare a.ncu-rep b.ncu-rep",
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
    no_pager: Annotated[
        bool, typer.Option("--no-pager", help="Never show long text in a pager ($PAGER, or less).")
    ] = False,
    version: Annotated[  # noqa: ARG001 - its callback does the work
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    context.obj = Given(runs=runs, ladder=ladder, format=format, quiet=quiet, verbose=verbose)
    if no_pager:
        os.environ["PAGER"] = ""


@atexit.register
def _leave_the_garbage() -> None:
    """Freezes all objects, since collecting garbage at exit took a sixth of the time of `prof compare`.

    DuckDB would report the remaining objects as leaked, so its objects are collected as usual.
    """
    if "duckdb" not in sys.modules:
        gc.freeze()


def main() -> NoReturn:
    """Runs a verb; prints any error as one message and exits with its code."""
    prepare_streams()
    with suppress(ValueError):  # not the main thread
        signal.signal(signal.SIGTERM, _terminate)  # as any error: what is unfinished is removed
    gc.set_threshold(_GC_THRESHOLD)
    import_arrow_alone()
    verbs = get_command(app)
    assert isinstance(verbs, TyperGroup)
    verbose = False
    words = sys.argv[1:]
    try:
        try:
            require_memory("prof")
            flags, words = split_flags(sys.argv[1:], verbs)
            verbose = "--verbose" in flags or "-v" in flags
            if words[:1] == ["help"]:
                words = [*words[1:2], "--help"]
            if hint := hint_for(words, VERBS):
                raise _Mistyped(hint)
            verbs(args=[*flags, *words], prog_name="prof")
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
    except BrokenPipeError:
        discard_output()
        sys.exit(_BROKEN_PIPE)
    except KeyboardInterrupt:
        _fail(ProfError("interrupted"), _INTERRUPTED, verbose=False)
    except _Mistyped as mistyped:
        _print_as_json(mistyped.error, words, _USAGE)
        _fail(mistyped.error, _USAGE, verbose=False)
    except Exception as error:
        failure = _failure(error)
        if not has_answered():
            _print_as_json(failure, words, failure.exit_code)
        _fail(failure, failure.exit_code, verbose)
    sys.exit(0)


def _failure(error: Exception) -> ProfError:
    """Returns the error to report: a failure of the output, a current folder that is gone or a limit of this process explains every other error."""
    if isinstance(error, Unwritable):
        discard_output()
        return OutputNotWritable(str(error.strerror), remedy="Check the disk or the program that it goes to.")
    if not isinstance(error, ProfError) and not _has_folder():
        return PathUnusable(
            "the current folder no longer exists",
            remedy="Change to another folder, and run the same command again.",
        )
    if shortage := find_shortage(error):
        return shortage.with_traceback(error.__traceback__)
    if isinstance(error, ProfError):
        return error
    if isinstance(error, FileNotFoundError) and not error.filename and "temporary directory" in str(error):
        return PathUnusable(
            "no folder for temporary files can be written",
            remedy="Name one that can be: TMPDIR=/dev/shm, for example, where every other file system is read-only.",
        )
    if isinstance(error, OSError) and isinstance(error.filename, str | os.PathLike):
        return PathUnusable(f"{shortened(os.fspath(error.filename), _PATH_WIDTH)}: {error.strerror}")
    return InternalError(f"{type(error).__name__}: {error}").with_traceback(error.__traceback__)


def _print_as_json(failure: ProfError, words: list[str], exit_code: int) -> None:
    if any("json" in word for word in words):  # spares every other failure the import
        from profiler.commands.shared.failure import print_failure

        print_failure(failure, exit_code, words)


def _has_folder() -> bool:
    try:
        os.getcwd()
    except OSError:
        return False
    return True


def _terminate(number: int, frame: object) -> None:  # noqa: ARG001
    raise SystemExit(_TERMINATED)


def split_flags(arguments: list[str], verbs: TyperGroup) -> tuple[list[str], list[str]]:
    """Returns the shared flags and the other words, since people type `prof compare 5 6 --verbose`, with a flag anywhere."""
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
    """Returns the options that take the next word as their value."""
    options = [one for one in command.params if one.param_type_name == "option" and not one.is_flag]
    return {name for one in options for name in one.opts}


def _fail(error: ProfError, exit_code: int, verbose: bool) -> NoReturn:
    from profiler.commands.shared.output import without_own_secrets

    lines = [f"prof: {error.message}", *error.details]
    if error.remedy:
        lines.append(f"      {error.remedy}")
    if verbose:
        lines = [*_traceback_lines(error), *lines]
    lines = [shortened(line, _LINE_WIDTH) for line in without_own_secrets(lines)]
    if not verbose:
        lines = [folded_for_terminal(line, " " * 6) for line in lines]
    text = "\n".join(lines)
    try:
        print(text, file=sys.stderr, flush=True)
    except OSError:  # the exit code remains
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())
    sys.exit(exit_code)


def _traceback_lines(error: BaseException) -> Iterator[str]:
    """Yields the frames as Python prints them, and the message on one line even if it contains newlines."""
    from traceback import format_exception

    for part in format_exception(error):
        if part.startswith((" ", "Traceback (", "\n")):
            yield from part.splitlines()
        else:
            yield part.rstrip("\n")
