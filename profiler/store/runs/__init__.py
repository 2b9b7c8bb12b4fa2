"""Runs: one collection of one kernel on one workload, committed whole.

In: tables, reports and a manifest. Out: a `Run`, found by number, name or id, and refused when it changed.
"""
