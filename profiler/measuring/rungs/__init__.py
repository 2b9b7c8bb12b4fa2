"""The rungs of a ladder: built, verified, and timed without the profiler.

In: a ladder's kernels. Out: binaries with their records, verdicts on results, and timings.
"""
