"""Lists what Nsight Compute's own rules found in a kernel: each finding once, in plain text.

A `Run` and a kernel name in; a list of `SheetRule` out.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from profiler.analyse.causes.nvidia_rules import causes_of_rule
from profiler.text import counted, first_of, source_name

if TYPE_CHECKING:
    from profiler.store.runs.run import Run

_FINDINGS = ("optimization", "warning")  # among the kinds of messages
_MOST_LINES = 5
# Links in the texts of Nsight Compute's rules: `@url:fused:https://...@`, `@section:LaunchStats:Launch Statistics@`.
_MARKUP = re.compile(r"@url:([^@]*?):https?:[^@]*@|@[a-z]+:(?:[^@:]*:)?([^@]*)@")


class SheetRule(Struct, frozen=True):
    """It may point at a source line, or at an instruction by its offset in bytes. `causes` are those of prof that it may mean.

    A `global` speedup is of the kernel, and a `local` one of a part of it, such as all instructions of one type.
    """

    section: str
    kind: str
    message: str
    speedup_pct: float | None
    file: str | None = None
    line: int | None = None
    offset: int | None = None
    causes: list[str] = []
    speedup_kind: Literal["global", "local"] | None = None


def find_rules(run: Run, kernel: str) -> list[SheetRule]:
    """Returns the findings of the rules for the kernel, the largest estimate first, once for each source line.

    If several equal findings are about instructions without known lines, or about lines, the first is listed, and the
    others are counted.
    """
    fired = _fired(run, kernel)
    of_places = map(_first_of_alike, _groups(((name, one.section, _place(one)), one) for name, one in fired))
    alike = _groups(((one.section, one.file, one.line is None, one.message), one) for one in of_places)
    return sorted(map(_first_of_alike, alike), key=_estimate, reverse=True)


def _fired(run: Run, kernel: str) -> Iterator[tuple[str, SheetRule]]:
    """Yields each finding with the name of its rule, from the first launch for which the rule fired.

    Each launch repeats them with slightly other figures.
    """
    launches = run.table("launches").select(["launch", "kernel"]).to_pylist()
    numbers = {row["launch"] for row in launches if row["kernel"] == kernel}
    first: dict[str, int] = {}
    for row in run.table("rules").to_pylist():
        is_finding = row["launch"] in numbers and row["kind"] in _FINDINGS
        if is_finding and first.setdefault(row["rule"], row["launch"]) == row["launch"]:
            yield row["rule"], _sheet_rule(row)


def _sheet_rule(row: Mapping[str, Any]) -> SheetRule:
    return SheetRule(
        section=row["section"],
        kind=row["kind"],
        message=_MARKUP.sub(r"\1\2", row["message"]),
        speedup_pct=row["speedup_pct"],
        file=source_name(row["file"]) if row["file"] else None,
        line=row["line"],
        offset=row["offset"],
        causes=list(causes_of_rule(row)),
        speedup_kind=row["speedup_kind"],
    )


def _place(rule: SheetRule) -> Hashable:
    """Returns the line that a finding is about, else whether it is about an instruction, or what it says of the whole kernel."""
    return (rule.file, rule.line) if rule.line else rule.offset is not None or rule.message


def _groups(keyed: Iterable[tuple[Hashable, SheetRule]]) -> Iterable[list[SheetRule]]:
    groups: dict[Hashable, list[SheetRule]] = {}
    for key, rule in keyed:
        groups.setdefault(key, []).append(rule)
    return groups.values()


def _first_of_alike(alike: Sequence[SheetRule]) -> SheetRule:
    """Returns the finding with the largest estimate, which says where the others are."""
    first = max(alike, key=_estimate)
    lines = {rule.line for rule in alike} - {first.line}
    offsets = {rule.offset for rule in alike} - {first.offset}
    if lines:
        named = first_of([str(line) for line in sorted(filter(None, lines))], _MOST_LINES)
        elsewhere = f"{counted(len(lines), 'other line')} ({named})"
    elif offsets and not first.line:
        elsewhere = counted(len(offsets), "other instruction")
    else:
        return first
    return replace(first, message=f"{first.message} The same holds at {elsewhere}.")


def _estimate(rule: SheetRule) -> float:
    return rule.speedup_pct or 0.0
