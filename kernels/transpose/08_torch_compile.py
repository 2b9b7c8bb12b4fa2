"""Rung 8: PyTorch, through torch.compile.

Inductor writes one kernel in Triton over tiles of both dimensions; the compiler of Triton puts a tile's elements in order through
shared memory. Expect what rung 3 reaches.
"""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent / "harness"))
from torch_rung import main

main("torch_operation", mode="default")
