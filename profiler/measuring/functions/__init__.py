"""Measures functions of Python: each is verified, timed and profiled in fresh processes, like a rung of a ladder.

In: a function, its arguments and a reference. Out: a run, committed to the store.
`child.py` is the program of the fresh processes; it speaks the protocol of a rung's program (`kernels/README.md`). `ahead.py` starts them.
"""
