"""Names what limits a kernel now, from its own counters.

A `Profile` comes in; suspects go out, the most binding first, each with the figures that say so.
`patterns.py` holds the suspects as data, and `time_shares.py` the figures that they read.
"""
