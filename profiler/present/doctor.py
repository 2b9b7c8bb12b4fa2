"""What `prof doctor` found, as rows and, below them, as one sentence per ability."""

from __future__ import annotations

from collections.abc import Sequence

from profiler.measure.doctor.checks import Ability, HealthCheck, HealthState, Readiness

HEADER = ("check", "ability", "state", "found", "remedy")
TITLES = ("check", "", "state", "found, and what to do", "")
STYLES: dict[HealthState, str] = {"ok": "", "warn": "yellow", "missing": "dim", "failed": "red"}
Row = tuple[str, Ability, HealthState, str, str]

_ABILITY_TITLES: dict[Ability, str] = {"reading": "reading, comparing"}
_WIDTH = 20


def check_rows(checks: Sequence[HealthCheck]) -> list[Row]:
    return [(one.name, one.ability, one.state, one.found, one.remedy) for one in checks]


def verdict_rows(verdicts: Sequence[Readiness]) -> list[Row]:
    """For programs: a row of the same shape, named like the ability."""
    return [(one.ability, one.ability, one.state, _sentence(one), "") for one in verdicts]


def cells(row: Row) -> list[str]:
    """For people: the remedy behind what was found, so that one column folds."""
    name, _, state, found, remedy = row
    return [name, "", state, f"{found}. {remedy}" if remedy else found, ""]


def verdict_lines(verdicts: Sequence[Readiness]) -> list[str]:
    return [f"{_ABILITY_TITLES.get(one.ability, one.ability):<{_WIDTH}}{_sentence(one)}" for one in verdicts]


def _sentence(verdict: Readiness) -> str:
    names = ", ".join(verdict.because)
    if verdict.state == "failed":
        return f"not ready: {names}"
    if verdict.state == "missing":
        return f"not here, because there is no {names.replace(', ', ' and no ')}"
    return "ready"
