"""Rung 7: PyTorch, through torch.compile.

Inductor writes the clone as one kernel in Triton, a block of elements a program. Expect 128-bit accesses, and about the time of
this ladder's rung in float4s.
"""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent / "harness"))
from torch_rung import main

main("torch_operation", mode="default")
