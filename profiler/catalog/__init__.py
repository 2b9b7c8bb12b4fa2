"""Data about what prof can measure: metrics, presets, limits and ladders.

In: `ladder.toml`, `prof.toml`. Out: plain values that every other room reads. No process starts here.
"""

DEFAULT_LADDER = "gemm"
