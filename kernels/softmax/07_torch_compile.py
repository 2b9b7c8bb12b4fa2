"""Rung 7: PyTorch, through torch.compile.

Inductor writes one kernel in Triton, which keeps the largest element and the sum as rung 2 does and reads a row of this width
twice, the second time out of the caches. Expect the bytes of one reading from memory.
"""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent / "harness"))
from torch_rung import main

main("torch_operation", mode="default")
