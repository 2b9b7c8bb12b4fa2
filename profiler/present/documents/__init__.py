"""Findings come in, documents go out: one file for each kind of answer.

Words and their order are decided here, once for every format.
"""
