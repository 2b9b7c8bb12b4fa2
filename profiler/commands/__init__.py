"""The verbs: each parses what was typed, asks or measures, and prints. They compute nothing.

`cli.py` imports a verb's module when that verb runs, so its imports stand at its top.
"""
