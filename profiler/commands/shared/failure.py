"""A failure as JSON: what the command line prints with --format json, and what `prof mcp` answers."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Annotated

from msgspec import Struct

from profiler.analyse.findings import LeftOut
from profiler.analyse.importance import Importance
from profiler.commands.shared.output import error_lines
from profiler.errors import ProfError
from profiler.present.brief import brief
from profiler.present.render.json import json_schema, to_json


class Failure(Struct, frozen=True, omit_defaults=True):
    """The error message and the exit code of the command line."""

    message: str
    details: Annotated[list[str], Importance(100, each=6)]
    exit_code: int
    remedy: str
    left_out: LeftOut = {}


class ErrorAnswer(Struct, frozen=True):
    """The JSON that a command prints when it fails, in the place of its answer."""

    error: Failure


def print_schema(verb: str, *findings: type, brief: bool = True) -> None:
    """Prints the JSON Schema of all that a verb prints with --format json: its findings, a failure, and with `brief` the answer alone."""
    from profiler.present.short_answer import ShortAnswer

    types = (*findings, *((ShortAnswer,) if brief else ()), ErrorAnswer)
    print(json_schema(types, f"prof {verb} --format json"))


def failure_json(error: ProfError, exit_code: int) -> str:
    """Returns the failure as the only member, `error`, of an object, so that no answer is taken for one."""
    message, *rest = error_lines(error)
    details, remedy = rest[: len(error.details)], rest[len(error.details) :]
    return to_json(ErrorAnswer(brief(Failure(message, details, exit_code, "".join(remedy)))))


def print_failure(error: ProfError, exit_code: int, words: Sequence[str]) -> None:
    """Prints a failure on standard output if these words of a command line ask for JSON."""
    if not _wants_json(words):
        return
    with suppress(OSError):  # the message on standard error and the exit code remain
        print(failure_json(error, exit_code), flush=True)


def _wants_json(words: Sequence[str]) -> bool:
    """Returns whether the format that was given last is JSON; the words after `--` belong to another program."""
    words = words[: words.index("--")] if "--" in words else words
    given = [
        word.partition("=")[2] or following
        for word, following in zip(words, [*words[1:], ""], strict=True)
        if word == "--format" or word.startswith("--format=")
    ]
    return given[-1:] == ["json"]
