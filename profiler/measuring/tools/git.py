"""Asks git about folders: which commit they are at, and what it tracks in them."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import NamedTuple

from profiler.errors import ProfError
from profiler.measuring.tools.process import run

_TIMEOUT_S = 30.0
# A folder of somebody else's is read as well, and its repository starts no program of its own.
_AS_A_GUEST = ("-c", "safe.directory=*", "-c", "core.fsmonitor=false")


class GitCommit(NamedTuple):
    """The commit of a folder. Both fields are None if the folder is not in a git repository."""

    sha: str | None
    dirty: bool | None


def read_commit(folder: Path, *ignored: Path) -> GitCommit:
    """Returns the commit of `folder`, and whether the tree differs from it anywhere but in `ignored`."""
    git = shutil.which("git")
    if git is None:
        return GitCommit(None, None)
    command = [git, "-C", str(folder)]
    try:
        head = run([*command, "rev-parse", "HEAD", "--show-toplevel"], timeout_s=_TIMEOUT_S)
        if head.exit_code:
            return GitCommit(None, None)
        sha, top = head.stdout.rstrip("\n").split("\n", maxsplit=1)
        inside = [path.resolve() for path in ignored if Path(top) in path.resolve().parents]
        paths = [":/", *(f":(top,exclude,literal){path.relative_to(top)}" for path in inside)]
        # List every file: git would name a new folder even if it holds nothing but an ignored one.
        status = run(
            [*command, "status", "--porcelain", "--untracked-files=all", "--", *paths],
            timeout_s=_TIMEOUT_S,
        )
    except ProfError:
        return GitCommit(None, None)
    return GitCommit(sha, bool(status.stdout.strip()) if status.exit_code == 0 else None)


def tracked_names(folder: Path) -> frozenset[str]:
    """Returns the names in `folder` of all files that git tracks, and of all folders that hold one."""
    git = shutil.which("git")
    if git is None or not folder.is_dir():
        return frozenset()
    listed = run([git, "-C", str(folder), *_AS_A_GUEST, "ls-files", "-z"], timeout_s=_TIMEOUT_S)
    if listed.exit_code:  # in no repository
        return frozenset()
    return frozenset(path.partition("/")[0] for path in listed.stdout.split("\0") if path)
