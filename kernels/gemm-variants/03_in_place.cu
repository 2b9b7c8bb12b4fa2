// Variant 3: each FMA names its operands in shared memory; nothing is copied into registers first.
//
// Change from variant 1: the order of the source, not of the arithmetic.
// Expect: the same loads as in variant 1. The compiler keeps what it has loaded: nothing writes to shared memory in between.
#define OPERANDS IN_PLACE
#define KERNEL gemm_variants_03_in_place
#define NAME "03_in_place"
#include "plain.cuh"
