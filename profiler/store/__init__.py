"""The store of runs: reads reports, keeps what they hold as Parquet tables, and answers queries.

In: `.ncu-rep` files, timings and sweeps.
Out: runs and their tables, from a folder or a URL.
Refuses damaged reports and changed runs; draws no conclusions from what it stores.
"""
