"""Rung 3: PyTorch, as it comes.

PyTorch launches two kernels: index_select writes the rows, and the norm reads them again. Both are timed; the norm's is profiled.
Expect the time of this ladder's unfused rung: twice the bytes of a fused one.
"""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent / "harness"))
from torch_rung import main

main("torch_operation")
