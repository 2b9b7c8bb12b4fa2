"""How values flow through a kernel: which instruction makes what another takes, in which lane, block and iteration of a loop.

`dataflow.py` follows registers, `depending.py` results to all that depends on them, and `possible_writers.py` all paths that
branches open. The others ask them, and answer one question each. A name that speaks of a turn means one iteration of a loop.

* Over the iterations of a loop: what is the same in each (`same_in_turns.py`), and what goes on from one to the next
  (`loop_carried.py`, by `cycles.py`).
* Over lanes, threads and blocks: what differs between lanes (`lane_values.py`), what several blocks share (`block_sharing.py`),
  which blocks and warps have no work of their own or are missing (`working_blocks.py`), what decides a branch
  (`branch_conditions.py`), and how many threads compute the same (`copies.py`).

`addresses/` computes addresses, `memory/` finds accesses that bring nothing new, and `arithmetic/` says what results are used for.
"""
