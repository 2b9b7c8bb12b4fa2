"""Reports of Nsight Compute: finds, checks and reads them.

In: a path or URL of a `.ncu-rep`.
Out: its hash and the rows of its tables, or an error that says what is wrong.
Refuses damaged reports. NVIDIA's library runs only in child processes, on Linux without any rights but to read.
"""
