"""Collections: each takes one kernel, or a program of the user's own, to a committed run.

In: targets and a plan, which names the GPU. Out: one outcome for each target: a new run, one that was known already, or an error.
"""
