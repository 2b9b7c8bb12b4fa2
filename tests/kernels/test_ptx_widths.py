"""Claim G13: the PTX of a rung reads shared memory by other widths than its machine code."""

from __future__ import annotations

import json
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "docs"))

from widths import STORED, count_widths  # noqa: E402


def test_the_stored_widths_are_those_of_the_compiler_and_not_of_the_machine_code(needs, machine_code) -> None:
    source = ROOT / "kernels/gemm/08_warp_tiles.cu"
    in_ptx = json.loads(STORED.read_text())["8"]
    assert in_ptx == count_widths(source, needs("nvcc"))
    assert set(in_ptx) == {"32", "64", "128"}
    assert machine_code("gemm", 8).only("^(?!.*ILb0E)").widths("LDS") == {128}
