"""Rung 6: PyTorch, as it comes.

PyTorch launches one kernel, vectorized_layer_norm_kernel: a block a row, four floats a load, Welford's formulas. The row is read
twice, the second time out of the L1 or L2. Expect the bytes of one reading from memory.
"""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent / "harness"))
from torch_rung import main

main("torch_operation")
