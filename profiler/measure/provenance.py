"""Where a measurement comes from, as its run records it: sources, binary, compiler, commit."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from profiler.catalog.ladder import Kernel, Ladder
from profiler.errors import ProfError
from profiler.measure.build import Built, build_flags, sha256_of
from profiler.measure.process import run
from profiler.measure.toolchain import Gpu
from profiler.store.manifest import Provenance

_GIT_TIMEOUT_S = 30.0


def derive_provenance(ladder: Ladder, kernel: Kernel, built: Built | None, gpu: Gpu) -> Provenance:
    """Paths are recorded as seen from the ladder's folder: runs may be published."""
    commit, dirty = read_commit(ladder.folder)
    facts = Provenance(driver_version=gpu.driver_version, git_commit=commit, git_dirty=dirty)
    if built is not None and built.record is not None:
        record = built.record
        return Provenance(
            driver_version=facts.driver_version,
            git_commit=commit,
            git_dirty=dirty,
            nvcc_version=record.nvcc_version,
            build_flags=build_flags(kernel, record.arch),
            without=record.without,
            sources={os.path.relpath(path, ladder.folder): sha for path, sha in record.sources.items()},
            binary_sha256=record.binary_sha256,
        )
    if kernel.source is not None and kernel.source.is_file():
        relative = os.path.relpath(kernel.source, ladder.folder)
        return Provenance(
            driver_version=facts.driver_version,
            git_commit=commit,
            git_dirty=dirty,
            sources={relative: sha256_of(kernel.source)},
        )
    return facts


def read_commit(folder: Path) -> tuple[str | None, bool | None]:
    """The commit checked out there and whether the tree differs from it; None outside of git."""
    git = shutil.which("git")
    if git is None:
        return None, None
    try:
        head = run([git, "-C", str(folder), "rev-parse", "HEAD"], timeout_s=_GIT_TIMEOUT_S)
        if head.exit_code:
            return None, None
        status = run([git, "-C", str(folder), "status", "--porcelain"], timeout_s=_GIT_TIMEOUT_S)
    except ProfError:
        return None, None
    return head.stdout.strip(), bool(status.stdout.strip()) if status.exit_code == 0 else None
