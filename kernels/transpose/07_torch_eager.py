"""Rung 7: PyTorch, as it comes.

`x.t().contiguous()` copies elements from one order to the other, without a tile in shared memory. Expect less than rung 2.
"""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent / "harness"))
from torch_rung import main

main("torch_operation")
