"""Rung 6: PyTorch, as it comes.

A clone of a contiguous array is the driver's cudaMemcpyAsync: there is no kernel to profile. Expect the time of rung 0.
"""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent / "harness"))
from torch_rung import main

main("torch_operation")
