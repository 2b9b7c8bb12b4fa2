"""Finds accesses to memory that bring or take nothing new, and what goes through memory on its way.

* Loads bring again what was loaded (`repeated_loads.py`), or what the same thread stored a moment before (`through_memory.py`).
* Stores are made useless by others (`repeated_stores.py`).
* Shared memory takes what loads bring for a block (`staging.py`), and sums in each iteration of a loop (`reduction_trees.py`).
* Constant memory serves one index after the other (`constant_lookups.py`).
* Loops repeat an atomic until it succeeds (`retries.py`).
"""
