"""A failure as JSON: what the command line prints with --format json, and what `prof mcp` answers."""

from __future__ import annotations

from typing import Annotated

from msgspec import Struct

from profiler.analyse.findings import LeftOut
from profiler.analyse.importance import Importance
from profiler.present.brief import brief
from profiler.present.render.json import to_json


class Failure(Struct, frozen=True, omit_defaults=True):
    """The error message and the exit code of the command line."""

    message: str
    details: Annotated[list[str], Importance(100, each=6)]
    exit_code: int
    remedy: str
    left_out: LeftOut = {}


def failure_json(failure: Failure) -> str:
    """Returns the failure as the only member, `error`, of an object, so that no answer is taken for one."""
    return to_json({"error": brief(failure)})
