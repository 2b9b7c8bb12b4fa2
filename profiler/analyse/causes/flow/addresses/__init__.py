"""Computes which bytes an access touches, as far as the machine code says it.

`operations.py` knows what integer instructions do, for any kind of number; `spans.py` computes with the least and the most that a
register may hold, and `threads.py` with what each thread of a block holds. `paths.py` finds who may have written a register.
`fixed.py` knows which accesses come to the same address in each turn of a loop. `owned.py` and `arrays.py` ask them which places a thread has for itself, and which loads bring different data.
"""
