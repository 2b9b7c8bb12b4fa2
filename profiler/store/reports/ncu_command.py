"""Derives from the ncu command line that a report embeds how it was measured, and how its program was called."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from functools import lru_cache
from itertools import takewhile

# Every other option of ncu takes a value, as its next word or behind an equals sign.
_FLAGS = {
    *("-f", "--force-overwrite", "--nvtx", "--call-stack", "--null-stdin", "--csv", "--quiet", "--verbose"),
    *("--print-fp", "--details-all", "--print-metric-attribution", "--open-in-ui"),
    *("--disable-extra-suffixes", "--disable-profiler-start-stop", "--disable-pm-warp-sampling"),
}

_KEPT = 256  # commands whose words are remembered: each rung of a ladder is compared with two others


@dataclass(frozen=True)
class Controls:
    """The settings of ncu that decide whether two measurements may be compared."""

    clock: str = "unknown"
    cache: str = "unknown"
    replay: str = "unknown"


def derive_controls(command_line: str, ncu_version: str) -> Controls:
    """Returns the settings on the command line, or the defaults of that version of ncu."""
    words = words_of(command_line)
    if not words:
        return Controls()
    options, _ = _parted(words)
    return Controls(
        clock=options.get("--clock-control") or _default_clock(ncu_version),
        cache=options.get("--cache-control") or "all",
        replay=options.get("--replay-mode") or "kernel",
    )


def without_ncu(words: tuple[str, ...]) -> tuple[str, ...]:
    """Returns the words of ncu's command from the program on; none if ncu did not start it."""
    return _parted(words)[1]


@lru_cache(maxsize=_KEPT)
def words_of(command_line: str) -> tuple[str, ...]:
    """Returns the words of a command, also where a quotation mark has no other."""
    try:
        return tuple(shlex.split(command_line))
    except ValueError:
        return tuple(command_line.split())


def version_of(text: str) -> tuple[int, ...]:
    """Returns '2025.3.1.0' as (2025, 3, 1, 0), and () for a text without a version."""
    return tuple(map(int, takewhile(str.isdigit, text.split("."))))


def _default_clock(ncu_version: str) -> str:
    version = version_of(ncu_version)
    if not version:
        return "unknown"
    return "boost" if version >= (2026, 1) else "base"


def _parted(words: tuple[str, ...]) -> tuple[dict[str, str], tuple[str, ...]]:
    """Returns the options of ncu itself, and the words from the program on: the first that is no option and no value of one."""
    options: dict[str, str] = {}
    position = 1
    while position < len(words) and words[position].startswith("-"):
        name, equals, value = words[position].partition("=")
        attached = not name.startswith("--") and len(name) > 2  # -k5
        following = words[position + 1] if position + 1 < len(words) else ""
        position += 1
        if not (equals or attached or name in _FLAGS or following.startswith("-")):
            value = following
            position += 1
        options.setdefault(name, value)
    return options, words[position:]
