"""`run.json`: everything needed to believe a run, or to repeat it.

Reading a manifest checks it: its seal fits, no name in it leads out of the run's folder, and its run id fits what it
says.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, overload

import msgspec

from profiler.catalog.ladders.ladder import is_ladder_name
from profiler.errors import RunDamaged
from profiler.store.disk import write_flushed
from profiler.store.remote.bounds import most_bytes
from profiler.store.remote.places import FolderPlace, reading_from
from profiler.store.reports.ncu_command import without_ncu, words_of
from profiler.store.runs.file_names import MANIFEST_FILE, is_report_file, is_table_file
from profiler.store.runs.run_id import RunId, rung_name
from profiler.store.runs.seal import has_seal, sealed
from profiler.store.tables.decoding import NOT_DECODED, decodable
from profiler.store.tables.schema import SCHEMA_VERSION

Count = Annotated[int, msgspec.Meta(ge=0, le=1 << 53)]  # larger ones do not fit into a column of a table


class StoredReport(msgspec.Struct, frozen=True):
    """The report of one process: a `file` in the run's folder, or a `reference` to one elsewhere.

    Exactly one is set.
    """

    sha256: str
    bytes: Count
    file: str | None = None
    reference: str | None = None


class StoredTable(msgspec.Struct, frozen=True):
    file: str
    rows: Count
    sha256: str


class KernelCount(msgspec.Struct, frozen=True):
    name: str
    launches: Count


class Spread(msgspec.Struct, frozen=True):
    """The least, the middle and the greatest of several samples."""

    least: float
    median: float
    greatest: float


CLOCK_EVERY_S = 0.02  # between two samples


class Clocks(msgspec.Struct, frozen=True):
    """The GPU's clock and power while a kernel and its reference were timed. If a program does not say
    when it did that, the samples are from its whole time.
    """

    samples: Count
    sm_mhz: Spread
    power_w: Spread

    @property
    def sampled_s(self) -> float:
        return self.samples * CLOCK_EVERY_S


class Provenance(msgspec.Struct, frozen=True):
    """The way in which prof built and ran what it measured; paths are relative to the ladder's folder."""

    driver_version: str = ""
    nvcc_version: str = ""
    build_flags: list[str] = []
    without: list[str] = []  # optional libraries that were missing
    sources: dict[str, str] = {}  # SHA-256 of each file compiled
    binary_sha256: str | None = None
    git_commit: str | None = None
    git_dirty: bool | None = None  # whether the tree differed from the commit
    seed: int | None = None
    reference: str | None = None  # the kernel that `reference_ns` belongs to
    library: str | None = None  # the library behind the reference, with its version
    # For each process, the algorithm that `best_ns` belongs to; empty for the default call.
    algorithms: list[dict[str, int]] = []
    clocks: Clocks | None = None
    runtime: str | None = None  # what ran a program that prof did not compile, as the program reports it
    relative_error: float | None = None  # of the result, verified just before, or of the last timed launch
    # The error of the worst element of what was timed last, divided by the error allowed for it.
    worst_element: float | None = None
    seconds: float | None = None  # how long the measurement took
    arguments: str | None = None  # of a measured function: types, shapes, and values of numbers
    bytes: int | None = None  # that one call of a function has to move, as its user states
    flops: int | None = None  # that one call of a function has to do, as its user states
    cautions: list[str] = []  # what to know before believing the figures of a measured function


@decodable
class Manifest(msgspec.Struct, frozen=True):
    """The manifest of a run. A `collected` run has one report for each process; a `timed` run has only timings."""

    schema_version: int
    run_id: str
    name: str
    origin: Literal["ingested", "collected", "timed"]
    recorded: str  # when Nsight Compute made the report, or when timing began, UTC
    reports: list[StoredReport]
    kernels: list[KernelCount]
    tables: dict[str, StoredTable]
    ladder: str | None = None
    kernel: Count | None = None
    workload: dict[str, Count] | None = None
    gpus: list[str] = []
    cuda_version: str = ""
    ncu_version: str = ""
    reader_version: str = ""
    prof_version: str = ""
    program: str = ""
    command_line: str = ""
    sections: list[str] = []
    preset: str | None = None  # what prof asked ncu for, when prof ran it
    metrics: list[str] = []  # the metrics that prof asked for by name
    missing_metrics: list[str] = []  # metrics of the preset that this GPU or this ncu lacks
    unread: str = ""  # what was left out because NVIDIA's reader crashed on it, in words
    part: str = ""  # the launches that were kept of the report, in words; empty for all
    clock_control: str = "unknown"
    cache_control: str = "unknown"
    replay_mode: str = "unknown"
    provenance: Provenance | None = None
    content_sha256: str | None = None  # when the run does not have exactly one report: its id ends in this
    # The hash of everything that was asked for: prof need not collect the same again.
    collection: str | None = None

    @property
    def sha256(self) -> str:
        """Returns the hash that the run's id ends in."""
        return self.content_sha256 or self.reports[0].sha256

    @property
    def is_profiled(self) -> bool:
        """Returns True if launches were recorded, with counters or with their times alone."""
        return bool(self.kernels)

    @property
    def has_counters(self) -> bool:
        return bool(self.reports)

    @property
    def facts(self) -> Provenance:
        """Returns how it was measured; of a run that prof did not measure, nothing is known."""
        return self.provenance or Provenance()

    @property
    def arguments(self) -> str | None:
        """Returns the arguments of a measured function, in words."""
        return self.facts.arguments

    @property
    def is_of_function(self) -> bool:
        """Returns whether prof measured a function: without a ladder, only the process that calls one reports what runs it."""
        return self.ladder is None and self.facts.runtime is not None

    @property
    def program_words(self) -> tuple[str, ...]:
        """Returns the words with which the program was called; none where no command was recorded, or ncu did not start it."""
        command = words_of(self.command_line)
        return without_ncu(command) if self.has_counters else command

    @property
    def launches(self) -> int:
        return sum(kernel.launches for kernel in self.kernels)


_Kind = TypeVar("_Kind", bound=Manifest)


def prof_version() -> str:
    """Returns the version of prof, also when it runs from a checkout and is not installed."""
    # Imported late: only commands that write a run need it.
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("ncu-prof")
    except PackageNotFoundError:
        import tomllib

        with suppress(OSError, ValueError, KeyError):
            project = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())["project"]
            return f"{project['version']}+checkout"
        return "unknown"


def write_manifest(manifest: Manifest, folder: Path) -> None:
    write_flushed(folder / MANIFEST_FILE, encode_manifest(manifest))


def encode_manifest(manifest: Manifest) -> bytes:
    """Encodes and seals a manifest, in today's form even if it was read from an older one."""
    today = msgspec.structs.replace(manifest, schema_version=SCHEMA_VERSION)
    return msgspec.json.format(sealed(msgspec.json.encode(today)), indent=2) + b"\n"


@overload
def read_manifest(folder: Path) -> Manifest: ...
@overload
def read_manifest(folder: Path, kind: type[_Kind]) -> _Kind: ...
def read_manifest(folder: Path, kind: type[Manifest] = Manifest) -> Manifest:
    path = folder / MANIFEST_FILE
    with reading_from(str(path)):
        return decode_manifest(FolderPlace(folder).read(MANIFEST_FILE), str(path), kind)


@overload
def decode_manifest(data: bytes, where: str) -> Manifest: ...
@overload
def decode_manifest(data: bytes, where: str, kind: type[_Kind]) -> _Kind: ...
def decode_manifest(data: bytes, where: str, kind: type[Manifest] = Manifest) -> Manifest:
    """Decodes and checks a manifest.

    Raises RunDamaged when it changed, a name leads out of its folder, or the id does not fit the rest.
    """
    if len(data) > (most := most_bytes(MANIFEST_FILE)):
        raise RunDamaged(f"{where}: not a valid manifest: larger than {most >> 20} MiB")
    try:
        raw = msgspec.json.decode(data)
        _require_known_schema(raw, where)
        fits = has_seal(data)
        manifest = msgspec.convert(raw, kind)
    except NOT_DECODED as error:
        raise RunDamaged(f"{where}: not a valid manifest: {error}") from error
    if not fits:
        raise RunDamaged(f"{where}: not the manifest that was written (its SHA-256 differs)")
    for fault in _faults(manifest):
        raise RunDamaged(f"{where}: not a valid manifest: {fault}")
    return manifest


def _require_known_schema(raw: Any, where: str) -> None:
    version = raw.get("schema_version") if isinstance(raw, dict) else None
    if isinstance(version, int) and version > SCHEMA_VERSION:
        raise RunDamaged(
            f"{where}: written by a newer prof (schema {version}, this one reads {SCHEMA_VERSION})",
            remedy="Upgrade prof: `pip install -U ncu-prof`.",
        )


def _faults(manifest: Manifest) -> Iterator[str]:
    """Yields the faults of all names that become paths, and of fields that contradict each other."""
    for table, stored in manifest.tables.items():
        if not is_table_file(stored.file, table):
            yield f"{stored.file!r} is no name of a file of table {table!r}"
    for report in manifest.reports:
        yield from _faults_of_report(report)
    yield from _faults_of_id(manifest)
    if manifest.origin != "timed" and not manifest.reports:
        yield f"a run that was {manifest.origin} must have a report"
    yield from _faults_of_kernel(manifest)
    if (launches := manifest.tables.get("launches")) is not None:
        if launches.rows != manifest.launches:
            yield f"{launches.rows} launches in their table, and {manifest.launches} of its kernels"
        if len({kernel.name for kernel in manifest.kernels if kernel.launches}) != len(manifest.kernels):
            yield "a kernel is listed twice, or without a launch"


def _faults_of_report(report: StoredReport) -> Iterator[str]:
    if (report.file is None) == (report.reference is None):
        yield "a report must lie either in the run's folder or elsewhere"
    if report.file is not None and not is_report_file(report.file):
        yield f"{report.file!r} is no name of a report's file"
    if not _is_sha256(report.sha256):
        yield f"{report.sha256!r} is no SHA-256 of a report"


def _faults_of_id(manifest: Manifest) -> Iterator[str]:
    """Yields the faults of the run id, which is made again from the rest of the manifest and compared."""
    stated = RunId.parse(manifest.run_id)
    if stated is None:
        yield f"{manifest.run_id!r} is no run id"
        return
    if not (manifest.content_sha256 or manifest.reports) or not _is_sha256(manifest.sha256):
        yield "the run has no SHA-256 that its id could end in"
        return
    try:
        recorded = datetime.fromisoformat(manifest.recorded)
        made = RunId.make(recorded, manifest.name, manifest.sha256)
    except (ValueError, OverflowError):
        yield f"{manifest.recorded!r} is no time"
        return
    if recorded.tzinfo is None:
        yield f"{manifest.recorded!r} is a time without a time zone"
    if made.name != manifest.name:
        yield f"{manifest.name!r} is no name of a run"
    if made.time != stated.time:
        yield f"the time in its id is {stated.time}, and it was recorded {manifest.recorded}"
    if made.name != stated.name:
        yield f"the name in its id is {stated.name!r}, and that of the run {manifest.name!r}"
    if made.hash != stated.hash:
        yield f"its id ends in {stated.hash}, and the SHA-256 of what was recorded begins with {made.hash}"


def _faults_of_kernel(manifest: Manifest) -> Iterator[str]:
    """Yields the faults of ladder and kernel.

    A run that prof measured is named after both; an ingested one may have any name.
    """
    ladder, kernel = manifest.ladder, manifest.kernel
    if ladder is not None and not is_ladder_name(ladder):
        yield f"{ladder!r} is no name of a ladder"
    if manifest.origin != "ingested" and ladder is not None and kernel is not None:
        name = rung_name(ladder, kernel)
        if manifest.name != name and not manifest.name.startswith(f"{name}-"):
            yield f"it is called {manifest.name!r}, and its kernel is {kernel} of ladder {ladder!r}"


def _is_sha256(text: str) -> bool:
    return re.fullmatch("[0-9a-f]{64}", text) is not None
