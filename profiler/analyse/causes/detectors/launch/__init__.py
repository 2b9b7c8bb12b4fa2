"""Detects causes in how a kernel is launched: its grid, the work of a block, and the warps that fit on an SM.

An `Evidence` comes in; `Candidate`s go out.
"""
