"""The checks of `prof doctor` as a document, and what they mean for each ability."""

from __future__ import annotations

from collections.abc import Sequence

from profiler.measuring.doctor.checks import Ability, HealthCheck, HealthState, Readiness
from profiler.present.document import Column, Document, Facts, Records, Row, Table, Tone

_HEADER = ("check", "ability", "state", "found", "remedy")
_COLUMNS = (Column("check"), Column("state"), Column("found, and what to do", folds=True))
_TONES: dict[HealthState, Tone] = {"ok": "plain", "warn": "warn", "missing": "quiet", "failed": "bad"}
_ABILITY_TITLES: dict[Ability, str] = {"reading": "reading, comparing"}


def doctor_document(checks: Sequence[HealthCheck], verdicts: Sequence[Readiness]) -> Document:
    """Returns a row for each check, and below them a sentence for each ability."""
    # The finding and its remedy are one text, so that only one column folds.
    rows = [
        Row(
            (one.name, one.state, f"{one.found}. {one.remedy}" if one.remedy else one.found),
            _TONES[one.state],
        )
        for one in checks
    ]
    abilities = [(_ABILITY_TITLES.get(one.ability, one.ability), _sentence(one)) for one in verdicts]
    records = [(one.name, one.ability, one.state, one.found, one.remedy) for one in checks]
    records += [(one.ability, one.ability, one.state, _sentence(one), "") for one in verdicts]
    return Document("", [[Table(_COLUMNS, rows)], [Facts(abilities)]], Records(_HEADER, records))


def _sentence(verdict: Readiness) -> str:
    names = ", ".join(verdict.because)
    if verdict.state == "failed":
        return f"not ready: {names}"
    if verdict.state == "missing":
        return f"not here, because there is no {names.replace(', ', ' and no ')}"
    return "ready"
