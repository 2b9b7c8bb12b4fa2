"""Which resource binds a kernel now, from its own counters.

A `Profile` in; `Suspect`s out, the most binding first, each with the figures that say so.
"""

from __future__ import annotations

from profiler.analyse.findings import Suspect
from profiler.analyse.profile import Profile


def find_suspects(profile: Profile) -> list[Suspect]:
    """The most binding resource first; nothing where the counters are missing."""
    return []


def find_missing_metrics(profile: Profile) -> list[str]:
    """The catalogue's names of what was not recorded, and without which a suspect may be overlooked."""
    return []
