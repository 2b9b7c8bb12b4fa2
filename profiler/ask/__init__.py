"""Answers questions about runs, ladders and reports, with one function for each question.

In: the names that a person gave, and the `Settings` that choose the store and the ladder. Out: a finding of `analyse`.
The verbs, MCP, notebooks and the Python interface all ask here, so they all give the same answer.
"""
