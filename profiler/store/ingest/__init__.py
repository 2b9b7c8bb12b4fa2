"""Ingestion: turns many reports into runs, on this machine or with the workers of a cluster.

In: paths and URLs of reports.
Out: a committed run or an error for each, as soon as it is known.
Refuses damaged reports one by one; stops only when runs can no longer be written, or no worker is left.
"""
