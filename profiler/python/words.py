"""Says in Python what sentences say for a terminal: a call for each command, and an argument for each option.

A sentence names what to do as a person would type it, between backticks: a command, or options of one. These are parsed
here, and the English around them is never looked at. Where Python has another way, the sentence is a `Spoken` with both.
A command that only a terminal has stays as it is.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Container, Iterable
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from profiler.errors import ProfError
from profiler.present.document import Chart, CodeBlock, Table
from profiler.store.runs.run_id import rung_name
from profiler.text import CODE_SPAN, Spoken

# For each command, the call that does what it does, and the options that are arguments of this call.
_CHOOSING = ("-k", "--nvtx", "--launch")
CALLS = {
    "show": ("prof.show({})", _CHOOSING),
    "compare": ("prof.compare({})", (*_CHOOSING, "--force")),
    "sass": ("prof.sass({})", _CHOOSING),
    "report": ("prof.report({})", (*_CHOOSING, "--output", "--force", "--overwrite")),
    "check": ("prof.check({})", ("-k", "--baseline")),
    "ladder": ("prof.ladder({})", ("--gpu", "--runs")),
    "list": ("prof.open_runs(...).to_pandas()", ("--runs",)),
    "collect": ("prof.measure({})", ("--launches", "--processes", "--preset", "--times-only", "--runs")),
}
# Each option as an argument. One with a value here takes none in a terminal.
ARGUMENTS = {
    "-k": "kernel_name",
    "--nvtx": "nvtx",
    "--launch": "launch",
    "--force": "force=True",
    "--overwrite": "overwrite=True",
    "--output": "output",
    "--baseline": "baseline",
    "--gpu": "gpu",
    "--runs": "runs",
    "--launches": "launches",
    "--processes": "processes",
    "--preset": "preset",
    "--times-only": "profile=False",
}
_NEEDLESS = ("--full", "--all", "...")  # a function returns everything
_PLACEHOLDERS = ("...", "AFTER", "BEFORE", "DIR", "N", "NAME", "PATTERN", "RANGE", "RECORDING", "REPORT")
_Said = TypeVar("_Said")
_Options = list[tuple[str, str]]


def told(text: str) -> str:
    """Returns the sentences with calls and arguments in the place of commands and options."""
    return CODE_SPAN.sub(_code, text.python if isinstance(text, Spoken) else text)


def in_python(said: _Said) -> _Said:
    """Returns a document, or a part of a finding, with all of its sentences `told`; tables, code and charts have none."""
    value: Any = said
    if isinstance(value, str):
        value = told(value)
    elif type(value) in (list, tuple):
        value = type(value)(map(in_python, value))
    elif isinstance(value, Struct) and not isinstance(value, (Table, CodeBlock, Chart)):
        value = replace(value, **{name: in_python(getattr(value, name)) for name in value.__struct_fields__})
    return value  # type: ignore[no-any-return]


def advise(error: ProfError) -> None:
    """Has the error speak of calls and arguments, and its traceback end with what to do."""
    error.message, error.details, error.remedy = in_python((error.message, error.details, error.remedy))
    if error.remedy and error.remedy not in getattr(error, "__notes__", ()):
        error.add_note(error.remedy)


def _code(found: re.Match[str]) -> str:
    """Returns the call for a command, or the arguments for options; any other code as it is."""
    try:
        words = shlex.split(found[1])
    except ValueError:  # not of a shell
        words = []
    if words[:1] == ["prof"]:
        said = _call(*words[1:])
    else:
        given, options = _split(words)
        said = None if given else _arguments(options, ARGUMENTS)
    return f"`{said}`" if said else found[0]


def _call(verb: str = "", *words: str) -> str | None:
    """Returns the call that does what a command does; None if only a terminal does that."""
    call, takes = CALLS.get(verb, ("", ()))
    given, options = _split(words)
    ladder = dict(options).get("--ladder")
    if verb == "ladder":
        given = [ladder] if ladder else given
    elif ladder:
        given = [rung_name(ladder, int(one)) if one.isdecimal() else one for one in given]
    # Of a run, its name says what these say of a number.
    options = [one for one in options if one[0] not in {"--ladder", "--gpu"} - {*takes}]
    arguments = _arguments(options, takes)
    if arguments is None or (verb == "collect" and (given or ladder)):  # it measures a program, or a rung
        return None
    said = ", ".join(map(_literal, given or ["..."]))
    return call.format(f"{said}, {arguments}" if arguments else said)


def _split(words: Iterable[str]) -> tuple[list[str], _Options]:
    """Returns what a command is given, and its options with their values."""
    given: list[str] = []
    options: _Options = []
    rest = iter(word for word in words if word not in _NEEDLESS)
    for word in rest:
        if word.startswith("-"):
            options.append((word, "" if "=" in ARGUMENTS.get(word, "") else next(rest, "")))
        else:
            given.append(word)
    return given, options


def _arguments(options: _Options, takes: Container[str]) -> str | None:
    """Returns the options as arguments, and the second pattern as that of the other kernel; None if one is not taken."""
    said: dict[str, str] = {}
    for option, value in options:
        if option not in takes:
            return None
        name = ARGUMENTS[option]
        said["other_kernel" if name in said else name] = value
    return ", ".join(f"{name}={_literal(value)}" if value else name for name, value in said.items())


def _literal(word: str) -> str:
    """Returns a word of a command as Python has it: a number, a text, or what somebody has yet to fill in."""
    return word if word.isdecimal() or word in _PLACEHOLDERS else repr(word)
