"""Verbs that build, run, time or profile kernels, and the one that says whether this machine can.

In: what was typed. Out: runs in the store, and a table of what was measured.
"""
