"""How long a ladder of eleven recorded rungs takes to draw, beside starting Python with Arrow."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest

from profiler.store.manifest import RunId, read_manifest, write_manifest
from profiler.store.runs import RunStore

pytestmark = pytest.mark.benchmark

ROOT = Path(__file__).resolve().parents[2]
RUNGS = 11


@pytest.fixture(scope="module")
def eleven_rungs(tmp_path_factory) -> Path:
    """The shipped profiles of kernels 5 and 6 in turn, as every rung of the ladder."""
    root = tmp_path_factory.mktemp("eleven") / "runs"
    shipped = RunStore(ROOT / "runs")
    for rung in range(RUNGS):
        original = shipped.find(str(5 + rung % 2), "gemm")
        hash = RunId.parse(original.manifest.run_id).hash
        run_id = RunId(f"20260101t{rung:06d}z", f"gemm-{rung}", hash)
        shutil.copytree(original.path, root / str(run_id))
        changed = {"run_id": str(run_id), "name": run_id.name, "kernel": rung}
        write_manifest(msgspec.structs.replace(original.manifest, **changed), root / str(run_id))
        assert read_manifest(root / str(run_id)).kernel == rung
    return root


def seconds(*command: str) -> float:
    start = time.perf_counter()
    subprocess.run(command, cwd=ROOT, capture_output=True, check=True)
    return time.perf_counter() - start


@pytest.mark.parametrize("arguments", [["ladder"], ["ladder", "--format", "json"]], ids=" ".join)
def test_a_ladder_of_eleven_rungs_takes_less_than_a_second(arguments, eleven_rungs):
    script = str(Path(sys.executable).with_name("prof"))
    imports, ours = float("inf"), float("inf")
    for _ in range(7):
        imports = min(imports, seconds(sys.executable, "-c", "import pyarrow"))
        ours = min(ours, seconds(script, "--runs", str(eleven_rungs), *arguments))
    print(
        f"\nprof {' '.join(arguments)} over {RUNGS} rungs {ours * 1e3:.0f} ms, import pyarrow {imports * 1e3:.0f} ms"
    )
    assert ours < 1


def test_checking_eleven_kernels_takes_less_than_two_seconds(eleven_rungs):
    script = str(Path(sys.executable).with_name("prof"))
    command = [script, "--runs", str(eleven_rungs), "check", "--baseline", str(eleven_rungs)]
    ours = min(seconds(*command) for _ in range(3))
    print(f"\nprof check of {RUNGS} kernels: {ours * 1e3:.0f} ms")
    assert ours < 2
