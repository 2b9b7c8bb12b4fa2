"""Reports of Nsight Compute: found, checked, contained and read.

In: a path or URL of a `.ncu-rep`. Out: its hash, and the rows of its tables; or an error that says what is wrong.
Only `nvidia_reader.py` imports NVIDIA's library, and only child processes of `sandbox.py` run it.
"""
