"""The verbs of the command line: each parses its options, calls `ask` or `measure`, and prints the result.

In: what was typed. Out: text, files and exit codes. Verbs compute nothing themselves.

`cli.py` imports a verb's module when that verb runs, so its imports stand at its top.
"""
