"""`run.json`: everything needed to believe a run, or to repeat it.

Run ids are `TIME-NAME-HASH`: the time the report was recorded, what was measured, and
the start of the report's SHA-256, so that a folder listing sorts by time, says what each
run is, and shows at once whether a report is already stored.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

import msgspec

from profiler.errors import RunDamaged

MANIFEST_FILE = "run.json"
HASH_CHARACTERS = 12
_NAME_CHARACTERS = 60
_RUN_ID = re.compile(r"(?P<time>\d{8}t\d{6}z)-(?P<name>[a-z0-9._-]+)-(?P<hash>[0-9a-f]{12})")


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
        moment = recorded or datetime.fromtimestamp(0, UTC)
        return RunId(moment.strftime("%Y%m%dt%H%M%Sz"), path_name(name), sha256[:HASH_CHARACTERS])


def path_name(name: str) -> str:
    """Any text as a name that is safe in a path: only [a-z0-9._-], never a leading dot."""
    safe = re.sub(r"[^a-z0-9._-]+", "-", name.lower()).strip(".-_")
    return safe[:_NAME_CHARACTERS].strip(".-_") or "report"


def rung_name(ladder: str, kernel: int) -> str:
    return f"{path_name(ladder)}-{kernel}"


class StoredReport(msgspec.Struct, frozen=True):
    """`file` lies in the run's folder; `reference` points elsewhere. One of them is set."""

    sha256: str
    bytes: int
    file: str | None = None
    reference: str | None = None


class StoredTable(msgspec.Struct, frozen=True):
    file: str
    rows: int
    sha256: str


class KernelCount(msgspec.Struct, frozen=True):
    name: str
    launches: int


class Manifest(msgspec.Struct, frozen=True):
    schema_version: int
    run_id: str
    name: str
    origin: Literal["ingested", "collected"]
    recorded: str  # when Nsight Compute made the report, UTC
    report: StoredReport
    kernels: list[KernelCount]
    tables: dict[str, StoredTable]
    ladder: str | None = None
    kernel: int | None = None
    workload: dict[str, int] | None = None
    gpus: list[str] = []
    cuda_version: str = ""
    ncu_version: str = ""
    reader_version: str = ""
    prof_version: str = ""
    program: str = ""
    command_line: str = ""
    sections: list[str] = []
    clock_control: str = "unknown"
    cache_control: str = "unknown"
    replay_mode: str = "unknown"

    @property
    def launches(self) -> int:
        return sum(kernel.launches for kernel in self.kernels)


def write_manifest(manifest: Manifest, folder: Path) -> Path:
    path = folder / MANIFEST_FILE
    path.write_bytes(msgspec.json.format(msgspec.json.encode(manifest), indent=2) + b"\n")
    return path


def read_manifest(folder: Path) -> Manifest:
    path = folder / MANIFEST_FILE
    try:
        return _DECODER.decode(path.read_bytes())
    except OSError as error:
        raise RunDamaged(f"{path}: cannot be read: {error.strerror}") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise RunDamaged(f"{path}: not a valid manifest: {error}") from error


_DECODER = msgspec.json.Decoder(Manifest)
