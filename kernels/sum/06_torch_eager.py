"""Rung 6: PyTorch, as it comes.

PyTorch launches one kernel, reduce_kernel: blocks add their part and the last one that is done adds the parts. Expect 128-bit
loads, four of them under way in a thread, and a result that is the same in every run.
"""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent / "harness"))
from torch_rung import main

main("torch_operation")
