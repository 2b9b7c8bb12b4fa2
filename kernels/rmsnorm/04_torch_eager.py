"""Rung 4: PyTorch, as it comes.

PyTorch 2.8 and later launch one kernel, that of layer norm without its mean: a block a row, the row read twice, the second time
out of the L1 or L2. Expect the bytes of one reading from memory. Earlier versions launch a handful of elementwise kernels.
"""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent / "harness"))
from torch_rung import main

main("torch_operation")
