"""Copies the runs that tests assert figures of from `runs/` to `tests/data/runs`; its README says why.

    .venv/bin/python tests/data/freeze_runs.py

The tables are copied as they are. The reports stay in `runs/`, and a copy's manifest says that they were left there, but for the
WHOLE runs: those that tests export, pack or upload.
"""

from __future__ import annotations

import shutil
from fnmatch import fnmatch
from pathlib import Path

from msgspec.structs import replace

from profiler.store.runs.manifest import Manifest, write_manifest
from profiler.store.runs.run_store import RunStore

HERE = Path(__file__).resolve().parent / "runs"
SHIPPED = HERE.parents[2] / "runs"
WHOLE = ("gemm-5", "gemm-6", "textbook-*")
TABLES_ALONE = ("gemm-[0-9]", "gemm-1[0-4]", "ceilings-[1-6]", "copy-[0-3]*", "relu-[12]")
TIMED = {1024: range(7), 2048: (0, 5, 6), 8192: range(15)}  # m, n and k, and which rungs of GEMM


def main() -> None:
    for old in (*HERE.glob("2*"), HERE / "sweeps"):
        shutil.rmtree(old, ignore_errors=True)
    shutil.copytree(SHIPPED / "sweeps", HERE / "sweeps")
    for manifest in RunStore(SHIPPED).manifests():
        if _is_wanted(manifest):
            _freeze(manifest)


def _is_wanted(manifest: Manifest) -> bool:
    if fnmatch(manifest.name, "gemm-*-timed"):
        return manifest.kernel in TIMED.get((manifest.workload or {})["m"], ())
    return _is_any(manifest.name, (*WHOLE, *TABLES_ALONE))


def _is_any(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatch(name, pattern) for pattern in patterns)


def _freeze(manifest: Manifest) -> None:
    source, copy = SHIPPED / manifest.run_id, HERE / manifest.run_id
    if _is_any(manifest.name, WHOLE):
        shutil.copytree(source, copy)
        return
    copy.mkdir()
    for table in manifest.tables.values():
        shutil.copyfile(source / table.file, copy / table.file)
    left = [
        replace(report, file=None, reference=f"runs/{manifest.run_id}/{report.file}")
        for report in manifest.reports
    ]
    write_manifest(replace(manifest, reports=left), copy)


if __name__ == "__main__":
    main()
