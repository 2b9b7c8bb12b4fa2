"""Options, printing and output files that several verbs share.

In: what was typed. Out: the settings of a verb, text on the terminal, and files that are written whole.
"""
