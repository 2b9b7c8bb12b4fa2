"""Rung 8: PyTorch, as it comes.

PyTorch launches one kernel of its index_select, which gathers rows in vectors where they are aligned. Expect 128-bit accesses,
and about the time of this ladder's rungs in float4s.
"""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent / "harness"))
from torch_rung import main

main("torch_operation")
