"""Says by which file a folder is known as a run."""

from __future__ import annotations

from pathlib import Path

MANIFEST_FILE = "run.json"


def holds_run(folder: Path) -> bool:
    """Returns whether a folder of this machine is a run."""
    return (folder / MANIFEST_FILE).exists()
