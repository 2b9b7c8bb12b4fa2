"""Detects lanes and warps that have nothing to do while they execute: split by branches, masked off, ended, or alike.

An `Evidence` comes in; `Candidate`s go out. `lanes.py` asks `steps.py` and `turns_for_few.py`; `alike.py` is a detector of its own.
"""
