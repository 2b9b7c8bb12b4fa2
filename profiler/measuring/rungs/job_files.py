"""The files that a rung needs to run in another folder or on another machine: its binary, or the sources that its
ladder names.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from profiler.measuring.rungs.program import RungJob
from profiler.store.disk import sha256_of
from profiler.store.runs.run_id import facts_sha256

_BINARY_FOLDER = "binary"


@dataclass(frozen=True)
class JobFile:
    place: str  # relative to the folder that all files of the job are written to
    sha256: str
    is_executable: bool


@dataclass(frozen=True)
class JobFiles:
    """The places of the files, relative to the folder that they are written to."""

    files: tuple[JobFile, ...]
    ladder: str
    binary: str | None
    source: str | None
    further_sources: tuple[str, ...] | None

    @property
    def hash(self) -> str:
        return facts_sha256(self)


def list_job_files(job: RungJob) -> JobFiles | None:
    """Returns the job's files; None if it may need others, or one that lies outside the ladders' folder."""
    kernel, folder = job.kernel, Path(os.path.abspath(job.ladder.folder))
    places: dict[str, Path] = {}

    def placed(path: Path) -> str:
        place = os.path.relpath(os.path.abspath(path), folder.parent)
        places[place] = path
        return place

    binary = source = None
    if job.binary is not None:
        binary = f"{_BINARY_FOLDER}/{job.binary.name}"
        places[binary] = job.binary
    elif kernel.further_sources is None:
        return None
    elif kernel.source is not None:
        source = placed(kernel.source)
    further = tuple(map(placed, kernel.further_sources)) if kernel.further_sources is not None else None
    if any(place.startswith("..") for place in places):
        return None
    files = tuple(JobFile(place, sha256_of(path), os.access(path, os.X_OK)) for place, path in places.items())
    return JobFiles(files, f"{folder.name}/{job.ladder.path.name}", binary, source, further)


def read_job_files(job: RungJob, needed: JobFiles) -> dict[str, bytes]:
    """Returns the bytes of each file, by its place."""
    root = Path(os.path.abspath(job.ladder.folder)).parent
    files = {file.place: root / file.place for file in needed.files}
    if needed.binary is not None and job.binary is not None:
        files[needed.binary] = job.binary
    return {place: path.read_bytes() for place, path in files.items()}


def write_job_files(needed: JobFiles, files: Mapping[str, bytes], folder: Path) -> None:
    """Writes all files to their places in the folder."""
    (folder / PurePosixPath(needed.ladder).parent).mkdir(parents=True, exist_ok=True)
    for file in needed.files:
        path = folder / file.place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(files[file.place])
        path.chmod(0o755 if file.is_executable else 0o644)


def relocate_job(job: RungJob, needed: JobFiles, folder: Path) -> RungJob:
    """Returns the job with its paths in the folder that its files were written to."""

    def path_of(place: str | None) -> Path | None:
        return folder / place if place is not None else None

    places = needed.further_sources
    further = None if places is None else tuple(folder / place for place in places)
    return replace(
        job,
        binary=path_of(needed.binary),
        kernel=replace(job.kernel, source=path_of(needed.source), further_sources=further),
        ladder=replace(job.ladder, path=folder / needed.ladder),
    )


def trim_job(job: RungJob) -> RungJob:
    """Returns the job without what its program does not need: the other rungs, and the facts about its own."""
    kernel = replace(job.kernel, flops=None, bytes=None, published=(), sweep=None)
    return replace(job, kernel=kernel, ladder=replace(job.ladder, kernels=(kernel,)))
