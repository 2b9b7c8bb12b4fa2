"""Derives where every rung of a ladder stands, and what each step was worth.

Recorded rungs come in; findings for `prof ladder`, its ideas, its roofline and its rows go out.
Which runs are the rungs is decided in `ask/`.
"""
