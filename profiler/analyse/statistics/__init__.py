"""Says how sure a difference is, and which verdict it allows.

Readings by process come in; differences with intervals and verdicts go out.
`single_launches.py` says what can be said of times without an interval. `timings.py` summarises repeats that were timed without the profiler.
"""
