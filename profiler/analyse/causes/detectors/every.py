"""Lists every detector, and those that need no counter; `find.py` asks them."""

from __future__ import annotations

from profiler.analyse.causes.detectors import ceilings
from profiler.analyse.causes.detectors.candidate import Detector
from profiler.analyse.causes.detectors.global_memory import (
    atomics,
    constants,
    layout,
    loads_of_remainders,
    narrow_accesses,
    redundant_loads,
    redundant_stores,
)
from profiler.analyse.causes.detectors.idle_lanes import (
    alike,
    alike_sides,
    blocks_of_one,
    copies,
    lanes,
    padding,
)
from profiler.analyse.causes.detectors.instructions import (
    compilation,
    computed_by_threads,
    idioms,
    integer_overhead,
    loops,
    number_types,
    random_numbers,
    redundant_instructions,
    special_functions,
    widened_operands,
)
from profiler.analyse.causes.detectors.launch import grid, little_work, occupancy
from profiler.analyse.causes.detectors.shared_memory import (
    bank_conflicts,
    narrow_loads,
    redundant_accesses,
    too_little_reuse,
)
from profiler.analyse.causes.detectors.waiting import (
    barriers,
    dependent_chains,
    instruction_cache,
    trees,
    unoverlapped_loads,
)

DETECTORS: tuple[Detector, ...] = (
    ceilings.detect_ceilings,
    layout.detect_uncoalesced,
    layout.detect_misaligned,
    narrow_accesses.detect_narrow,
    redundant_loads.detect_redundant_loads,
    loads_of_remainders.detect_loads_of_remainders,
    redundant_stores.detect_redundant_stores,
    redundant_stores.detect_taken_back,
    redundant_stores.detect_scratch,
    compilation.detect_spills,
    atomics.detect_atomics,
    constants.detect_divergent_constants,
    constants.detect_constant_misses,
    bank_conflicts.detect_bank_conflicts,
    narrow_loads.detect_narrow_shared,
    too_little_reuse.detect_too_little_reuse,
    redundant_accesses.detect_redundant_shared,
    redundant_accesses.detect_redundant_shared_stores,
    integer_overhead.detect_integer_overhead,
    idioms.detect_spelled_out,
    idioms.detect_chosen_one_by_one,
    redundant_instructions.detect_redundant_instructions,
    redundant_instructions.detect_computed_by_blocks,
    redundant_instructions.detect_computed_by_all,
    redundant_instructions.detect_same_in_all_blocks,
    computed_by_threads.detect_computed_by_threads,
    random_numbers.detect_unused_numbers,
    loops.detect_loop_overhead,
    number_types.detect_conversions,
    widened_operands.detect_widened_operands,
    widened_operands.detect_dots_of_floats,
    number_types.detect_fp64,
    special_functions.detect_special_functions,
    lanes.detect_idle_lanes,
    lanes.detect_lanes_without_thread,
    alike_sides.detect_alike_sides,
    alike.detect_repeated_by_threads,
    blocks_of_one.detect_blocks_of_one,
    copies.detect_copies,
    padding.detect_padding,
    unoverlapped_loads.detect_unoverlapped_loads,
    dependent_chains.detect_dependent_chain,
    barriers.detect_barriers,
    trees.detect_trees_in_turns,
    trees.detect_sums_for_all,
    compilation.detect_register_banks,
    instruction_cache.detect_instruction_cache,
    grid.detect_short_launch,
    grid.detect_small_grid,
    grid.detect_last_wave,
    grid.detect_imbalance,
    little_work.detect_little_work,
    occupancy.detect_occupancy,
)

# These need only the duration of the launch.
WITHOUT_COUNTERS: tuple[Detector, ...] = (grid.detect_short_launch,)
