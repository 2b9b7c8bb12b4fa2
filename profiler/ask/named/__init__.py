"""Finds the runs and the ladder that a person named.

In: a rung's number, a run's id or name, a report, a ladder, a size, as they were typed. Out: runs and a ladder,
or an error that lists similar names or the sizes that are stored.
"""
