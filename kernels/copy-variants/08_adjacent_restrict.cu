// Variant 8: as variant 7, through pointers that are __restrict__.
//
// Change from variant 7: the compiler knows that the arrays do not overlap.
// Expect: four loads before the first store, all still of 32 bits: the alignment is unknown.
#define FROM const float* __restrict__
#define TO float* __restrict__
#define KNOWN(pointer) (pointer)
#define KERNEL copy_variants_08_adjacent_restrict
#define NAME "08_adjacent_restrict"
#include "adjacent.cuh"
