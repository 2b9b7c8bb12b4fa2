"""Rung 5: PyTorch, as it comes.

PyTorch launches one kernel of its library, an instance of vectorized_elementwise_kernel. Expect 128-bit accesses where the
arrays are aligned, several of them under way in a thread, and about the time of this ladder's rung in float4s.
"""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent / "harness"))
from torch_rung import main

main("torch_operation")
