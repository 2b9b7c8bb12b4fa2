"""`run.json`: everything needed to believe a run, or to repeat it.

Run ids are `TIME-NAME-HASH`: the time the report was recorded, what was measured, and
the start of the report's SHA-256 (where prof measured: of all that was asked for and came of it), so that a
folder listing sorts by time, says what each run is, and shows at once whether a report is already stored.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, TypeVar, overload

import msgspec

from profiler.catalog.ladders.ladder import is_ladder_name
from profiler.errors import RunDamaged
from profiler.store.file_names import HASH_CHARACTERS, is_report_file, is_sha256, is_table_file
from profiler.store.tables.decoding import decodable
from profiler.store.tables.schema import SCHEMA_VERSION

MANIFEST_FILE = "run.json"
TIMED_SUFFIX = "-timed"
DEFAULT_PRESET = "default"
_NAME_CHARACTERS = 60
_RUN_ID = re.compile(r"(?P<time>[0-9]{8}t[0-9]{6}z)-(?P<name>[a-z0-9._-]+)-(?P<hash>[0-9a-f]{12})")


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
        time = moment.astimezone(UTC).strftime("%Y%m%dt%H%M%Sz")
        return RunId(time, path_name(name), sha256[:HASH_CHARACTERS])


def path_name(name: str) -> str:
    """Any text as a name that is safe in a path: only [a-z0-9._-], never a leading dot."""
    safe = re.sub(r"[^a-z0-9._-]+", "-", name.lower()).strip(".-_")
    return safe[:_NAME_CHARACTERS].strip(".-_") or "report"


def rung_name(ladder: str, kernel: int) -> str:
    return f"{path_name(ladder)}-{kernel}"


def timed_name(ladder: str, kernel: int) -> str:
    """Timings have a name of their own: whoever asks for the rung wants its profile."""
    return rung_name(ladder, kernel) + TIMED_SUFFIX


def sweep_name(ladder: str, kernel: int) -> str:
    return f"{rung_name(ladder, kernel)}-tune"


def preset_name(name: str, preset: str) -> str:
    """Each preset under a name of its own: runs of one name can be compared."""
    return name if preset == DEFAULT_PRESET else f"{name}-{preset}"


def content_sha256(hashes: Sequence[str]) -> str:
    """The hash of one report is its own; several make one in their order."""
    return hashes[0] if len(hashes) == 1 else hashlib.sha256(" ".join(hashes).encode()).hexdigest()


class StoredReport(msgspec.Struct, frozen=True):
    """One process's report. `file` lies in the run's folder; `reference` points elsewhere. One of them is set."""

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


class Provenance(msgspec.Struct, frozen=True):
    """What was measured, where prof itself ran it; paths are relative to the ladder's folder."""

    driver_version: str = ""
    nvcc_version: str = ""
    build_flags: list[str] = []
    without: list[str] = []  # libraries it would have used, had they been there
    sources: dict[str, str] = {}  # SHA-256 of each file compiled
    binary_sha256: str | None = None
    git_commit: str | None = None
    git_dirty: bool | None = None  # whether the tree differed from the commit
    seed: int | None = None
    reference: str | None = None  # what `reference_ns` is the time of
    runtime: str | None = None  # what ran a program that prof did not compile, as the program says
    relative_error: float | None = None  # of the result, as verified just before
    seconds: float | None = None  # how long the measurement took


@decodable
class Manifest(msgspec.Struct, frozen=True):
    """A `timed` run holds timings without the profiler and has no report; a `collected` one has one per process."""

    schema_version: int
    run_id: str
    name: str
    origin: Literal["ingested", "collected", "timed"]
    recorded: str  # when Nsight Compute made the report, or when timing began, UTC
    reports: list[StoredReport]
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
    preset: str | None = None  # what prof asked ncu for, where prof did
    metrics: list[str] = []  # those it asked for by name
    missing_metrics: list[str] = []  # those of the preset that this GPU or this ncu does not have
    unread: str = ""  # what NVIDIA's reader crashed on, in words: it is left out
    clock_control: str = "unknown"
    cache_control: str = "unknown"
    replay_mode: str = "unknown"
    provenance: Provenance | None = None
    content_sha256: str | None = None  # of a run that does not have one report: what its id ends in
    collection: str | None = None  # what all that was asked for hashes to: collecting it again may be skipped

    @property
    def sha256(self) -> str:
        """What makes this run the one it is, and what its id ends in."""
        return self.content_sha256 or self.reports[0].sha256

    @property
    def is_profiled(self) -> bool:
        return bool(self.reports)

    @property
    def launches(self) -> int:
        return sum(kernel.launches for kernel in self.kernels)


_Kind = TypeVar("_Kind", bound=Manifest)


def prof_version() -> str:
    """Also where prof runs from a checkout and is not installed."""
    from importlib.metadata import PackageNotFoundError, version  # only what writes a run needs it

    try:
        return version("ncu-prof")
    except PackageNotFoundError:
        import tomllib

        with suppress(OSError, ValueError, KeyError):
            project = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())["project"]
            return f"{project['version']}+checkout"
        return "unknown"


def write_manifest(manifest: Manifest, folder: Path) -> Path:
    path = folder / MANIFEST_FILE
    path.write_bytes(encode_manifest(manifest))
    return path


def encode_manifest(manifest: Manifest) -> bytes:
    return msgspec.json.format(msgspec.json.encode(manifest), indent=2) + b"\n"


@overload
def read_manifest(folder: Path) -> Manifest: ...
@overload
def read_manifest(folder: Path, kind: type[_Kind]) -> _Kind: ...
def read_manifest(folder: Path, kind: type[Manifest] = Manifest) -> Manifest:
    path = folder / MANIFEST_FILE
    try:
        return decode_manifest(path.read_bytes(), str(path), kind)
    except OSError as error:
        raise RunDamaged(f"{path}: cannot be read: {error.strerror}") from error


@overload
def decode_manifest(data: bytes, where: str) -> Manifest: ...
@overload
def decode_manifest(data: bytes, where: str, kind: type[_Kind]) -> _Kind: ...
def decode_manifest(data: bytes, where: str, kind: type[Manifest] = Manifest) -> Manifest:
    """The manifest, of which no name leads out of a folder, and whose id is made of what it says; else RunDamaged."""
    try:
        raw = _upgraded(msgspec.json.decode(data))
        _require_known_schema(raw, where)
        manifest = msgspec.convert(raw, kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise RunDamaged(f"{where}: not a valid manifest: {error}") from error
    for fault in _faults(manifest):
        raise RunDamaged(f"{where}: not a valid manifest: {fault}")
    return manifest


def _upgraded(raw: Any) -> Any:
    """Version 1 had one report, or null."""
    if isinstance(raw, dict) and raw.get("schema_version") == 1 and "report" in raw:
        raw["reports"] = [raw["report"]] if raw["report"] is not None else []
    return raw


def _require_known_schema(raw: Any, where: str) -> None:
    version = raw.get("schema_version") if isinstance(raw, dict) else None
    if isinstance(version, int) and version > SCHEMA_VERSION:
        raise RunDamaged(
            f"{where}: written by a newer prof (schema {version}, this one reads {SCHEMA_VERSION})",
            remedy="Upgrade prof: `pip install -U ncu-prof`.",
        )


def _faults(manifest: Manifest) -> Iterator[str]:
    """Everything that becomes a path, and whether it fits the rest."""
    for table, stored in manifest.tables.items():
        if not is_table_file(stored.file, table):
            yield f"{stored.file!r} is no name of a file of table {table!r}"
    for report in manifest.reports:
        if (report.file is None) == (report.reference is None):
            yield "a report lies in the run's folder or elsewhere, one of the two"
        if report.file is not None and not is_report_file(report.file):
            yield f"{report.file!r} is no name of a report's file"
        if not is_sha256(report.sha256):
            yield f"{report.sha256!r} is no SHA-256 of a report"
    yield from _faults_of_id(manifest)
    yield from _faults_of_kernel(manifest)


def _faults_of_id(manifest: Manifest) -> Iterator[str]:
    """The id is made again from what it is the id of."""
    stated = RunId.parse(manifest.run_id)
    if stated is None:
        yield f"{manifest.run_id!r} is no run id"
        return
    if not (manifest.content_sha256 or manifest.reports) or not is_sha256(manifest.sha256):
        yield "the run has no SHA-256 that its id could end in"
        return
    try:
        recorded = datetime.fromisoformat(manifest.recorded)
        made = RunId.make(recorded, manifest.name, manifest.sha256)
    except (ValueError, OverflowError):
        yield f"{manifest.recorded!r} is no time"
        return
    if recorded.tzinfo is None:
        yield f"{manifest.recorded!r} is a time of no time zone"
    if made.name != manifest.name:
        yield f"{manifest.name!r} is no name of a run"
    if made.time != stated.time:
        yield f"the time in its id is {stated.time}, and it was recorded {manifest.recorded}"
    if made.name != stated.name:
        yield f"the name in its id is {stated.name!r}, and that of the run {manifest.name!r}"
    if made.hash != stated.hash:
        yield f"its id ends in {stated.hash}, and the SHA-256 of what was recorded begins with {made.hash}"


def _faults_of_kernel(manifest: Manifest) -> Iterator[str]:
    """What prof measured itself is called by the ladder and the number; what was ingested may have a name of its own."""
    ladder, kernel = manifest.ladder, manifest.kernel
    if ladder is not None and not is_ladder_name(ladder):
        yield f"{ladder!r} is no name of a ladder"
    if kernel is not None and kernel < 0:
        yield f"{kernel} is no number of a kernel"
    if manifest.origin != "ingested" and ladder is not None and kernel is not None:
        name = rung_name(ladder, kernel)
        if manifest.name != name and not manifest.name.startswith(f"{name}-"):
            yield f"it is called {manifest.name!r}, and its kernel is {kernel} of ladder {ladder!r}"
