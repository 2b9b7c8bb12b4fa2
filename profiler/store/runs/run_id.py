"""Run ids and the names in them.

An id is `TIME-NAME-HASH`: when the report was recorded, what was measured, and the start of a SHA-256. The
hash is the report's; for a run that prof measured, it covers all that was asked for and recorded. So a folder
listing is sorted by time, says what each run is, and shows at once whether a report is already stored.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Literal

import msgspec

from profiler.store.runs.file_names import HASH_CHARACTERS

TIMED_SUFFIX = "-timed"
DEFAULT_PRESET = "default"
NAME_CHARACTERS = 60
_RUN_ID = re.compile(
    rf"(?P<time>[0-9]{{8}}t[0-9]{{6}}z)-(?P<name>[a-z0-9._-]+)-(?P<hash>[0-9a-f]{{{HASH_CHARACTERS}}})"
)


class RunId(msgspec.Struct, frozen=True):
    time: str
    name: str
    hash: str

    def __str__(self) -> str:
        return f"{self.time}-{self.name}-{self.hash}"

    @staticmethod
    def parse(text: str) -> RunId | None:
        match = _RUN_ID.fullmatch(text)
        return RunId(**match.groupdict()) if match else None

    @staticmethod
    def make(recorded: datetime | None, name: str, sha256: str) -> RunId:
        time = id_time(recorded or datetime.fromtimestamp(0, UTC))
        return RunId(time, path_name(name), sha256[:HASH_CHARACTERS])


def id_time(moment: datetime) -> str:
    """Returns a time as ids of runs and names of packs have it, so that they sort by it."""
    return moment.astimezone(UTC).strftime("%Y%m%dt%H%M%Sz")


def path_name(name: str) -> str:
    """Turns any text into a name that is safe in a path: only [a-z0-9._-], no leading dot, never empty."""
    safe = re.sub(r"[^a-z0-9._-]+", "-", name.lower()).strip(".-_")
    return safe[:NAME_CHARACTERS].strip(".-_") or "report"


def rung_name(ladder: str, kernel: int) -> str:
    return f"{path_name(ladder)}-{kernel}"


def timed_name(ladder: str, kernel: int) -> str:
    """Returns the name of a rung's timings, which differs from that of its profile: the rung's name means the profile."""
    return rung_name(ladder, kernel) + TIMED_SUFFIX


def sweep_name(ladder: str, kernel: int) -> str:
    return f"{rung_name(ladder, kernel)}-tune"


def preset_name(name: str, preset: str) -> str:
    """Returns the name of a run that was collected with `preset`.

    Each preset has its own, since runs of one name can be compared.
    """
    return name if preset == DEFAULT_PRESET else f"{name}-{preset}"


def content_sha256(hashes: Sequence[str]) -> str:
    """Combines the hashes of a run's reports: a single one stays what it is, several are hashed in their order."""
    return hashes[0] if len(hashes) == 1 else hashlib.sha256(" ".join(hashes).encode()).hexdigest()


def facts_sha256(facts: object, order: Literal["sorted"] | None = None) -> str:
    """Returns the hash of facts as JSON writes them; those of a mapping count in their order, unless they are `sorted`."""
    return hashlib.sha256(msgspec.json.encode(facts, order=order)).hexdigest()
