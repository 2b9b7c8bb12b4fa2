"""Rung 4: PyTorch, through torch.compile.

Inductor fuses the lookup into the norm: one kernel in Triton, a program a row. Expect the bytes of the fused rung from memory.
"""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent / "harness"))
from torch_rung import main

main("torch_operation", mode="default")
