"""How a report was measured, read from the ncu command line that it embeds."""

from __future__ import annotations

import shlex
from dataclasses import dataclass


@dataclass(frozen=True)
class Controls:
    """ncu's settings that decide whether two measurements may be compared."""

    clock: str = "unknown"
    cache: str = "unknown"
    replay: str = "unknown"


def derive_controls(command_line: str, ncu_version: str) -> Controls:
    """The settings given, or the defaults of that version of ncu."""
    try:
        words = shlex.split(command_line)
    except ValueError:
        words = command_line.split()
    if not words:
        return Controls()
    options = _options(words[1:])
    return Controls(
        clock=options.get("--clock-control") or _default_clock(ncu_version),
        cache=options.get("--cache-control") or "all",
        replay=options.get("--replay-mode") or "kernel",
    )


def version_of(text: str) -> tuple[int, ...]:
    """'2025.3.1.0' as (2025, 3, 1, 0); () where there is none."""
    parts = []
    for part in text.split("."):
        if not part.isdigit():
            break
        parts.append(int(part))
    return tuple(parts)


def _default_clock(ncu_version: str) -> str:
    version = version_of(ncu_version)
    if not version:
        return "unknown"
    return "boost" if version >= (2026, 1) else "base"


def _options(words: list[str]) -> dict[str, str]:
    """The options before the program; a value follows its option or an equals sign."""
    options: dict[str, str] = {}
    wanted = ("--clock-control", "--cache-control", "--replay-mode")
    for position, word in enumerate(words):
        name, equals, value = word.partition("=")
        if name in wanted:
            follows = words[position + 1] if position + 1 < len(words) else ""
            options.setdefault(name, value if equals else follows)
    return options
