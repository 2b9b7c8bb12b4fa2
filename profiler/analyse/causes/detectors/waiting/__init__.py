"""Detects causes in what warps wait for: loads, the results of other instructions, other warps, and their own code.

An `Evidence` comes in; `Candidate`s go out.
"""
