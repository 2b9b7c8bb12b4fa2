"""Verbs that answer questions about what is stored, or about reports: they measure nothing and change nothing.

In: what was typed. Out: the answer on standard output, or in a file that was named.
"""
