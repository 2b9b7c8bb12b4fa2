"""Several GPUs at once, of this host or of a cluster's workers: decides which one measures what, also when a worker dies.

In: groups of kernels, and the workers of a pool. Out: the outcomes of `collect/`, of which each worker measures some.
"""
