"""Verbs that build, verify, time, tune or profile kernels, and `prof doctor`, which checks the machine for that.

In: what was typed. Out: runs in the store, and a table of what was measured.
"""
