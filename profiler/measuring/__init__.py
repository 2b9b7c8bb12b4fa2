"""Measures kernels: finds the tools, builds, verifies, times and profiles. The only room that needs CUDA.

In: kernels of a ladder, or any program. Out: runs and sweeps, committed to the store.
"""
