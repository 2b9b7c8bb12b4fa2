"""The checks' results, and what they mean together: whether prof can read, store, build and measure on this machine."""

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
    """The places to look for the tools, the driver and the other processes."""

    environment: Mapping[str, str] = field(default_factory=lambda: os.environ)
    proc: Path = Path("/proc")

    @property
    def temporary_folder(self) -> Path:
        """Returns the temporary folder that ncu and other programs started from here use."""
        return Path(self.environment.get("TMPDIR") or "/tmp")


@dataclass(frozen=True)
class HealthCheck:
    """The result for one thing. `missing` things need not be here; `failed` things should work and do not."""

    name: str
    ability: Ability
    state: HealthState
    found: str
    remedy: str = ""


@dataclass(frozen=True)
class Readiness:
    """The state of one ability, and the checks that stand in its way."""

    ability: Ability
    state: HealthState
    because: tuple[str, ...] = ()  # names of checks


def derive_readiness(checks: Sequence[HealthCheck]) -> list[Readiness]:
    """Returns the state of each ability."""
    return [_readiness(ability, checks) for ability in ABILITIES]


def _readiness(ability: Ability, checks: Sequence[HealthCheck]) -> Readiness:
    """Returns the state of one ability; warnings do not count."""
    obstacles: tuple[HealthState, ...] = ("failed", "missing")
    for state in obstacles:
        if names := tuple(one.name for one in checks if one.ability == ability and one.state == state):
            return Readiness(ability, state, names)
    return Readiness(ability, "ok")
