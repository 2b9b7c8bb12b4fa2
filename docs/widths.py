"""How wide the PTX of each FP32 rung of GEMM reads shared memory, by compiling it; needs nvcc and no GPU.

`python docs/widths.py` prints how many loads of each width the PTX for sm_90 holds, and `--write` also stores that in
`runs/checks/gemm-ptx.json`, where the claims compare it with the machine code of the recorded runs.
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
from collections import Counter
from pathlib import Path

from profiler.catalog.ladders.ladder_file import read_ladder
from profiler.measuring.tools.process import run
from profiler.measuring.tools.toolchain import find_toolchain

ROOT = Path(__file__).resolve().parents[1]
STORED = ROOT / "runs/checks/gemm-ptx.json"
_RUNGS = range(3, 10)  # those that read shared memory, and compile for every GPU
_ENTRY = re.compile(r"\.entry (\S+)\(.*?\n}\n", re.DOTALL)
_LOAD = re.compile(r"\bld\.shared(?:\.v(\d))?\.[fu]32\b")


def count_widths(source: Path, nvcc: Path) -> dict[str, int]:
    """Returns how many loads from shared memory of each width, in bits, a rung's kernel for whole tiles has in PTX."""
    with tempfile.TemporaryDirectory() as folder:
        ptx = Path(folder) / "rung.ptx"
        flags = ["-std=c++17", "-O3", "-arch=sm_90", "-DPROF_NO_CUBLAS", "-ptx"]
        run([str(nvcc), *flags, str(source), "-o", str(ptx)], timeout_s=300)
        for entry in _ENTRY.finditer(ptx.read_text()):
            if "gemm_" in entry[1] and "ILb0E" not in entry[1]:
                counts = Counter(32 * int(lanes or 1) for lanes in _LOAD.findall(entry[0]))
                return {str(bits): count for bits, count in sorted(counts.items())}
    raise LookupError(f"no kernel in the PTX of {source}")


def main() -> None:
    ladder = read_ladder(ROOT / "kernels/gemm/ladder.toml")
    nvcc = find_toolchain().nvcc
    found = {}
    for number in _RUNGS:
        source = ladder.kernel(number).source
        assert source is not None
        found[str(number)] = count_widths(source, nvcc)
        print(number, ", ".join(f"{count} of {bits} bits" for bits, count in found[str(number)].items()))
    if "--write" in sys.argv[1:]:
        STORED.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
