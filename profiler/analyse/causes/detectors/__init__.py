"""Looks for each cause by its own detector, in one module a group of the catalogue.

An `Evidence` comes in; `Candidate`s go out: what a change would take away, where, and in which words.
"""
