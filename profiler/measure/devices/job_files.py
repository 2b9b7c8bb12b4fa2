"""What a rung needs to run on another machine: its binary, or the files that its ladder names, known by their hashes.

The bytes travel to a worker once; it keeps them in a folder that is named by their hash, and runs from there.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

import msgspec

from profiler.measure.rungs.build import sha256_of
from profiler.measure.rungs.program import Job

_BINARY_FOLDER = "binary"


@dataclass(frozen=True)
class KitFile:
    place: str  # below the kit's folder
    sha256: str
    is_executable: bool


@dataclass(frozen=True)
class Kit:
    """`ladder` and the others are places below its folder."""

    files: tuple[KitFile, ...]
    ladder: str
    binary: str | None
    source: str | None
    further_sources: tuple[str, ...] | None

    @property
    def hash(self) -> str:
        return hashlib.sha256(msgspec.json.encode(self)).hexdigest()


def kit_of(job: Job) -> Kit | None:
    """None where the rung may need files that nobody named, or that lie elsewhere."""
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
    files = tuple(KitFile(place, sha256_of(path), os.access(path, os.X_OK)) for place, path in places.items())
    return Kit(files, f"{folder.name}/{job.ladder.path.name}", binary, source, further)


def read_kit(job: Job, kit: Kit) -> dict[str, bytes]:
    """The bytes of its files, by their places."""
    root = Path(os.path.abspath(job.ladder.folder)).parent
    files = {file.place: root / file.place for file in kit.files}
    if kit.binary is not None and job.binary is not None:
        files[kit.binary] = job.binary
    return {place: path.read_bytes() for place, path in files.items()}


def write_kit(kit: Kit, files: Mapping[str, bytes], folder: Path) -> None:
    """Whole or not at all: whoever finds the folder there finds all of it."""
    unfinished = folder.with_name(f".{folder.name}.{os.getpid()}")
    (unfinished / PurePosixPath(kit.ladder).parent).mkdir(parents=True, exist_ok=True)
    for file in kit.files:
        path = unfinished / file.place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(files[file.place])
        path.chmod(0o755 if file.is_executable else 0o644)
    os.replace(unfinished, folder)


def settle(job: Job, kit: Kit, folder: Path) -> Job:
    """The job as it runs from where the kit was written."""

    def path_of(place: str | None) -> Path | None:
        return folder / place if place is not None else None

    further = (
        tuple(folder / place for place in kit.further_sources) if kit.further_sources is not None else None
    )
    return replace(
        job,
        binary=path_of(kit.binary),
        kernel=replace(job.kernel, source=path_of(kit.source), further_sources=further),
        ladder=replace(job.ladder, path=folder / kit.ladder),
    )


def light(job: Job) -> Job:
    """Without what no program needs to run: the other rungs, and what is only said about this one."""
    kernel = replace(job.kernel, flops=None, bytes=None, published=(), sweep=None)
    return replace(job, kernel=kernel, ladder=replace(job.ladder, kernels=(kernel,)))
