"""Finds the facts that a run records about its origin: sources, binary, compiler and commit."""

from __future__ import annotations

import os

import msgspec

from profiler.catalog.ladders.ladder import Kernel, Ladder
from profiler.measuring.rungs.build import Built, build_flags
from profiler.measuring.tools.git import GitCommit
from profiler.measuring.tools.gpus import Gpu
from profiler.store.disk import sha256_of
from profiler.store.runs.manifest import Provenance


def rung_provenance(
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
