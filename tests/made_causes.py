"""Causes that are made up: a test says of them only what matters to it."""

from profiler.analyse.causes.cause import Cause, CodePlace, Savings, where_is


def cause_of(
    name="barriers", saves=20.0, at_most=100.0, *, limited_by=None, together=None,
    why="Warps wait.", change="Wait less.", line=None, places=(), **evidence,
):  # fmt: skip
    """A cause that is all at a `line` of kernel.cu, or at these places, or nowhere in particular."""
    where = [CodePlace("LDG", 16, 100.0, "kernel.cu", line)] if line else [*places]
    return Cause(
        name,
        why,
        change,
        Savings(saves, at_most, limited_by, together),
        where,
        evidence,
        where_is(name, where),
    )
