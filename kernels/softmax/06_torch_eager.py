"""Rung 6: PyTorch, as it comes.

PyTorch launches one kernel, a block a row, which keeps a row of this width in registers or shared memory. Expect the bytes of
one reading from memory.
"""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent / "harness"))
from torch_rung import main

main("torch_operation")
