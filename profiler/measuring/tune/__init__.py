"""Sweeps: finds the values of a kernel's parameters that make it fastest, by measuring.

In: a kernel with `[kernel.tune]` in its ladder file. Out: a stored table with every point and what became of it.
"""
