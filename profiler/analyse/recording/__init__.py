"""Gathers one kernel of one recording: its launches, metrics, work and source lines.

A stored run and a kernel's name come in; a `Profile` goes out, which every other analysis starts from,
and the overview that `prof show` prints.
"""
