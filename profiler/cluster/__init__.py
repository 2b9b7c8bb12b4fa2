"""Workers: processes on this and other machines that make calls for this one, reached through Dask.

In: a scheduler's address, or options of sbatch.
Out: a `WorkerPool`, and the results of calls to its workers.
Refuses to repeat a call behind its caller's back; knows nothing of reports and runs.
"""
