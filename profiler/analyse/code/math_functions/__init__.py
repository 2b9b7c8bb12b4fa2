"""Knows the functions of single precision by the instructions that evaluate them.

An instruction comes in; how much a fast form saves goes out (`sizes.py`), or that there is none (`lasting.py`).
"""
