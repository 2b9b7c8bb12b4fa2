"""Detects causes in the accesses to global memory: which addresses a warp touches, how wide, how often, and in turns.

An `Evidence` comes in; `Candidate`s go out.
"""
