"""Runs: each is one collection of one kernel on one workload, committed whole or not at all.

In: tables, reports and a manifest. Out: a `Run`, found by number, name or id. Refuses a run that changed since it was recorded,
or that holds a name which prof would not give.
"""
