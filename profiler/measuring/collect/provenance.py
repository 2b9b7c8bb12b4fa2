"""Finds what is known of a target's origin: of a rung, how it was built; of any other program, the hashes of its files."""

from __future__ import annotations

import shutil
import stat
from contextlib import suppress
from pathlib import Path

import msgspec

from profiler.measuring.collect.target import Target
from profiler.measuring.rungs.build import build_folder
from profiler.measuring.rungs.provenance import rung_provenance
from profiler.measuring.tools.git import read_commit
from profiler.measuring.tools.gpus import Gpu
from profiler.store.disk import sha256_of
from profiler.store.runs.manifest import Provenance
from profiler.store.runs.run_store import RunStore

_LARGEST_HASHED_BYTES = 1 << 30


def find_provenance(target: Target, gpu: Gpu, folder: Path, store: RunStore) -> Provenance:
    """Returns the origin of a measurement. A program that is no rung starts in `folder`, and has the commit that prof was called in."""
    if (job := target.rung) is not None:
        commit = read_commit(job.ladder.folder, store.local, build_folder(job.ladder, gpu.arch))
        return rung_provenance(job.ladder, job.kernel, target.built, gpu, commit)
    commit = read_commit(Path.cwd(), store.local)
    facts = Provenance(driver_version=gpu.driver_version, git_commit=commit.sha, git_dirty=commit.dirty)
    return program_provenance(target, facts, folder)


def program_provenance(target: Target, facts: Provenance, folder: Path) -> Provenance:
    """Returns `facts` with the hashes of a program's executable, and of the files among the words of its command.

    More is not known of a program that prof did not compile. Its words are paths as seen from `folder`, where it starts;
    a run may be published, so it keeps their names alone.
    """
    name = target.program[0]
    found = str(folder / name) if "/" in name else shutil.which(name)
    words = zip(target.program_text[1:], target.program[1:], strict=True)
    hashes = [(Path(text).name, _hash_of(folder / word)) for text, word in words]
    return msgspec.structs.replace(
        facts,
        sources={name: sha256 for name, sha256 in hashes if sha256 is not None},
        binary_sha256=_hash_of(Path(found)) if found else None,
    )


def _hash_of(path: Path) -> str | None:
    """Returns the hash of a file, or None. `path` may be any word of a command, even one too long for a file name."""
    with suppress(OSError, ValueError):
        status = path.stat()
        if stat.S_ISREG(status.st_mode) and status.st_size <= _LARGEST_HASHED_BYTES:
            return sha256_of(path)
    return None
