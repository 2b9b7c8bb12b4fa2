"""What a person may name, and what is meant by it.

In: a rung's number, a run's id or name, a report, a ladder, a size, as they were typed. Out: runs and a ladder,
or an error that lists what comes near.
"""
