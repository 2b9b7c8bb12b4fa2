"""Detects causes in what is executed: instructions that a kernel could do without.

An `Evidence` comes in; `Candidate`s go out.
"""
