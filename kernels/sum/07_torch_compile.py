"""Rung 7: PyTorch, through torch.compile.

Inductor splits the sum: one kernel in Triton adds parts of the array, another those sums. Both are timed; the first, which reads
all but a few KB, is profiled. Expect 128-bit loads.
"""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent / "harness"))
from torch_rung import main

main("torch_operation", mode="default")
