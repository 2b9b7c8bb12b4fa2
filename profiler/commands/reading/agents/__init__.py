"""Answers coding agents, as `prof mcp` does, and writes the skill file that says how to use its tools.

In: the arguments that an agent sent. Out: the JSON of a finding or of a failure.
"""
