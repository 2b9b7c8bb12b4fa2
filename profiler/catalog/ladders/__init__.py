"""Reads ladders: kernels that do the same work, one idea apart.

In: `ladder.toml`. Out: a `Ladder` with its workload, commands, sweeps and work; or an error with its line.
"""
