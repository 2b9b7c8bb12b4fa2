"""Rung 9: PyTorch, through torch.compile.

Inductor writes the lookup as an elementwise kernel in Triton: each thread works out the row of its elements and checks its id.
Expect 128-bit accesses, and more instructions a byte than in a kernel that gives a row to a block.
"""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent / "harness"))
from torch_rung import main

main("torch_operation", mode="default")
