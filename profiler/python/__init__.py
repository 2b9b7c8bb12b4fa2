"""The Python interface behind `import profiler as prof`: what its functions take and return.

In: functions to measure, runs, and reports' paths. Out: the findings of `ask`, which show themselves in a notebook.
"""
