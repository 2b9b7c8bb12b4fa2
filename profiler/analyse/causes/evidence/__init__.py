"""Gathers what is known of a kernel: what each instruction did, what warps waited for, and where the time went.

A `Profile` comes in; an `Evidence` goes out. It draws no conclusion.
"""
