"""Rung 5: PyTorch, through torch.compile.

Inductor writes one kernel in Triton, a program a row; a row too wide for its registers is read twice, the second time out of
the L2. Expect the bytes of one reading from memory.
"""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent / "harness"))
from torch_rung import main

main("torch_operation", mode="default")
