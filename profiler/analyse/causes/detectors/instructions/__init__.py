"""Detects causes in what is executed: instructions that a kernel could do without, and lanes that have nothing to do.

An `Evidence` comes in; `Candidate`s go out.
"""
