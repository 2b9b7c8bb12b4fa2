"""Gathers what is known of a kernel: what each instruction did, what warps waited for, and where the time went.

`evidence.py` makes an `Evidence` of a `Profile`. `blocks_of_sm.py`, `loads_under_way.py` and `synchronisation.py` read one, and say what follows
from its figures and instructions alone. None names a cause.
"""
