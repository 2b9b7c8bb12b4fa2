"""Rung 5: PyTorch, through torch.compile.

Inductor writes one kernel in Triton, a block of elements a program. Expect 128-bit accesses, but fewer of them under way in a
thread than in the eager kernel, and about its time: there is nothing to fuse.
"""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent / "harness"))
from torch_rung import main

main("torch_operation", mode="default")
