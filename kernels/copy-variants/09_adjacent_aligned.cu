// Variant 9: as variant 8, and the compiler knows that the addresses are multiples of 16.
//
// Change from variant 8: a promise about the alignment, no vector type and no cast to one.
// Expect: accesses of 128 bits, and the speed of float4.
#define FROM const float* __restrict__
#define TO float* __restrict__
#define KNOWN(pointer) static_cast<decltype(pointer)>(__builtin_assume_aligned(pointer, 16))
#define KERNEL copy_variants_09_adjacent_aligned
#define NAME "09_adjacent_aligned"
#include "adjacent.cuh"
