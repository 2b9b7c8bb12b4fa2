"""The GPUs that measure: the one here, several of this host, or those of a cluster's workers.

In: kernels to verify, time and record. Out: their timings and reports; `collect/` keeps them.
"""
