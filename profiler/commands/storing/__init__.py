"""Verbs that store reports, keep the store small, and write reports back out.

In: what was typed. Out: runs, packs or reports.
"""
