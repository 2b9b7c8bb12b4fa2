"""Verbs that bring reports into the store, keep it small, and give reports back.

In: what was typed. Out: runs, packs or reports.
"""
