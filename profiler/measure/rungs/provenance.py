"""Finds the facts that a run records about its origin: sources, binary, compiler and commit."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import NamedTuple

import msgspec

from profiler.catalog.ladders.ladder import Kernel, Ladder
from profiler.errors import ProfError
from profiler.measure.rungs.build import Built, build_flags
from profiler.measure.tools.process import run
from profiler.measure.tools.toolchain import Gpu
from profiler.store.remote.places import sha256_of
from profiler.store.runs.manifest import Provenance

_GIT_TIMEOUT_S = 30.0


class GitCommit(NamedTuple):
    """The commit of a folder. Both fields are None if the folder is not in a git repository."""

    sha: str | None
    dirty: bool | None


def derive_provenance(
    ladder: Ladder, kernel: Kernel, built: Built | None, gpu: Gpu, commit: GitCommit
) -> Provenance:
    """Returns the origin of a rung's measurement. Paths are relative to the ladder's folder: runs may be published."""
    facts = Provenance(driver_version=gpu.driver_version, git_commit=commit.sha, git_dirty=commit.dirty)
    sources = {str(path): sha256_of(path) for path in kernel.further_sources or ()}
    record = built.record if built is not None else None
    if record is not None:
        sources |= record.sources
        facts = msgspec.structs.replace(
            facts,
            nvcc_version=record.nvcc_version,
            build_flags=build_flags(kernel, record.arch),
            without=record.without,
            binary_sha256=record.binary_sha256,
        )
    elif kernel.source is not None and kernel.source.is_file():
        sources[str(kernel.source)] = sha256_of(kernel.source)
    relative = {os.path.relpath(path, ladder.folder): sha256 for path, sha256 in sources.items()}
    return msgspec.structs.replace(facts, sources=relative)


def read_commit(folder: Path, *ignored: Path) -> GitCommit:
    """Returns the commit of `folder`, and whether the tree differs from it anywhere but in `ignored`."""
    git = shutil.which("git")
    if git is None:
        return GitCommit(None, None)
    command = [git, "-C", str(folder)]
    try:
        head = run([*command, "rev-parse", "HEAD", "--show-toplevel"], timeout_s=_GIT_TIMEOUT_S)
        if head.exit_code:
            return GitCommit(None, None)
        sha, top = head.stdout.rstrip("\n").split("\n", maxsplit=1)
        inside = [path.resolve() for path in ignored if Path(top) in path.resolve().parents]
        paths = [":/", *(f":(top,exclude,literal){path.relative_to(top)}" for path in inside)]
        # List every file: git would name a new folder even if it holds nothing but an ignored one.
        status = run(
            [*command, "status", "--porcelain", "--untracked-files=all", "--", *paths],
            timeout_s=_GIT_TIMEOUT_S,
        )
    except ProfError:
        return GitCommit(None, None)
    return GitCommit(sha, bool(status.stdout.strip()) if status.exit_code == 0 else None)
