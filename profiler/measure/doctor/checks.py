"""What `prof doctor` looks at, and what it finds: one line each, and whether prof can do its work here."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

Ability = Literal["reading", "storing", "building", "measuring"]
HealthState = Literal["ok", "warn", "missing", "failed"]

ABILITIES: tuple[Ability, ...] = ("reading", "storing", "building", "measuring")


@dataclass(frozen=True)
class Machine:
    """Where to look for the tools, the driver and the other processes."""

    environment: Mapping[str, str] = field(default_factory=lambda: os.environ)
    proc: Path = Path("/proc")

    @property
    def temporary_folder(self) -> Path:
        """The one that ncu and the programs started from here use."""
        return Path(self.environment.get("TMPDIR") or "/tmp")


@dataclass(frozen=True)
class HealthCheck:
    """One thing that was looked at. What is `missing` need not be here; what `failed` should work and does not."""

    name: str
    ability: Ability
    state: HealthState
    found: str
    remedy: str = ""


@dataclass(frozen=True)
class Readiness:
    """Whether an ability is there, and what stands in its way."""

    ability: Ability
    state: HealthState
    because: tuple[str, ...] = ()  # names of checks


def derive_readiness(checks: Sequence[HealthCheck]) -> list[Readiness]:
    return [_verdict(ability, checks) for ability in ABILITIES]


def _verdict(ability: Ability, checks: Sequence[HealthCheck]) -> Readiness:
    """A warning takes nothing away."""
    obstacles: tuple[HealthState, ...] = ("failed", "missing")
    for state in obstacles:
        if names := tuple(one.name for one in checks if one.ability == ability and one.state == state):
            return Readiness(ability, state, names)
    return Readiness(ability, "ok")
