"""Computes which bytes an access touches, as far as the machine code says it.

`operations.py` knows what integer instructions do, for any kind of number. With it, `threads.py` computes how far apart the
threads of a block access memory, and `shared_places.py` which places of shared memory an access may touch. `strides.py` says how
far an iteration of a loop moves on, `indexed.py` by which index an address is computed, `apart.py` which accesses lie apart, and
`side_by_side.py` counts what accesses side by side take together.
"""
