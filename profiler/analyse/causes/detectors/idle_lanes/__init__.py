"""Detects lanes and warps that have nothing to do while they execute: split by branches, masked off, ended, or alike.

An `Evidence` comes in; `Candidate`s go out. `lanes.py` asks `steps.py`, `turned_off.py` and `forms.py`; `alike.py` is a detector of its own.
"""
