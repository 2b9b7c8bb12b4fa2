"""Detects lanes and warps that have nothing to do while they execute: split by branches, masked off, past the end, or alike.

An `Evidence` comes in; `Candidate`s go out. `lanes.py` asks `steps.py` and `turns_for_few.py`; the others are detectors of their own.
"""
