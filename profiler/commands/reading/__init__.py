"""Verbs that answer questions about runs and reports: they measure nothing and change no run.

In: what was typed. Out: the answer on standard output, or in the file of an option.
"""
