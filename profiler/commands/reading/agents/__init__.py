"""Offers coding agents what `prof mcp` answers: its tools, and the skill file that says how to use them.

In: the arguments that an agent sent. Out: the JSON of a finding or of a failure.
"""
