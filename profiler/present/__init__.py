"""Findings to text: each function returns a string and writes nothing."""
