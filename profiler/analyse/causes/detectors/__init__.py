"""Looks for each cause by its own detector, in a folder or a module for each group of the catalogue.

An `Evidence` comes in; `Candidate`s go out: what a change would take away, where, and in which words.
"""
