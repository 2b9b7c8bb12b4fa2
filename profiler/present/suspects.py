"""Suspects as a list: how much each weighs, its name, and the sentence that says why."""

from __future__ import annotations

from collections.abc import Sequence

from profiler.analyse.findings import Suspect
from profiler.present.encode import markdown_text, to_markdown
from profiler.present.terminal import styled, wrapped

_MOST_MISSING = 5
_INDENT = " " * 8
NOTHING_STANDS_OUT = "nothing stands out: no resource is near its peak, and no stall takes 5 % of the time"
SHARE_MEANING = "and the share of the time that relieving it could at most save"


def suspects_text(
    whose: str, suspects: Sequence[Suspect], missing: Sequence[str], *, colour: bool, width: int | None
) -> str:
    """`whose` is the kernel in a word or two; `missing` are the metrics for want of which some were not judged."""
    if not suspects:
        return wrapped(f"what binds {whose}: {unjudged_text(missing) or NOTHING_STANDS_OUT}", width)
    lines = [wrapped(f"what binds {whose}, {SHARE_MEANING}", width)]
    for suspect in suspects:
        lines.append(f"{weight_text(suspect):>6}  {styled(suspect.name, 'bold', colour=colour)}")
        lines.append(wrapped(f"{_INDENT}{suspect.sentence}", width, _INDENT))
    if missing:
        lines.append(wrapped(unjudged_text(missing), width))
    return "\n".join(lines)


def suspects_markdown(whose: str, suspects: Sequence[Suspect], missing: Sequence[str]) -> str:
    unjudged = markdown_text(unjudged_text(missing))
    if not suspects:
        return f"**What binds {whose}:** {unjudged or NOTHING_STANDS_OUT}."
    table = to_markdown(
        ("could save", "suspect", "why"),
        [(weight_text(suspect), suspect.name, suspect.sentence) for suspect in suspects],
        numeric=(0,),
    )
    parts = [f"**What binds {whose}**, {SHARE_MEANING}:", table]
    return "\n\n".join([*parts, f"{unjudged.capitalize()}."] if missing else parts)


def weight_text(suspect: Suspect) -> str:
    return "?" if suspect.weight_pct is None else f"{suspect.weight_pct:.0f} %"


def unjudged_text(missing: Sequence[str]) -> str:
    if not missing:
        return ""
    more = len(missing) - _MOST_MISSING
    names = ", ".join(missing[:_MOST_MISSING]) + (f" and {more} more" if more > 0 else "")
    return f"not every suspect could be judged, for want of {names}"
