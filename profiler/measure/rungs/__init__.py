"""The rungs of a ladder: built, verified and timed.

In: a ladder's kernels. Out: binaries with their records, verdicts on results, and timings without the profiler.
"""
