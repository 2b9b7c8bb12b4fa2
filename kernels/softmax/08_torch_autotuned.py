"""Rung 8: PyTorch, through torch.compile with max-autotune-no-cudagraphs.

Inductor writes several kernels in Triton for the same step, with other block sizes and numbers of warps, times each and keeps
the fastest. Expect what rung 7 reaches or better: this is the strongest opponent that PyTorch has.
"""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent / "harness"))
from torch_rung import main

main("torch_operation", mode="max-autotune-no-cudagraphs")
