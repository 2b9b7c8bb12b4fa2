"""How values flow through a kernel: which instruction makes what another takes, in which lane, block and turn of a loop.

`dataflow.py` follows registers. The others answer one question each; they read `evidence/`, and the detectors read them.
"""
