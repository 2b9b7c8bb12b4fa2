"""Measures kernels: finds the tools, builds, verifies, times and profiles. The only room that needs CUDA.

In: kernels of a ladder, or any program. Out: runs and sweeps, committed to the store.
`profiler.measure(function, ...)` works too: `profiler/__init__.py` makes this package callable.
"""
