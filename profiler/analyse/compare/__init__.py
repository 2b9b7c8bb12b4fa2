"""Compares two kernels: what changed, how surely, and why one is faster.

Two profiles come in; a `Comparison` goes out, or `NotComparable` where they were measured differently.
`changes.py` is the shorter comparison that ladders and `prof check` use.
"""
