// Variant 6: a thread computes 16 x 16 elements of C.
//
// Change from variant 1: 32 shared elements feed 256 FMAs, 8 for each; a block of 128 x 128 has 64 threads.
// Expect: 256 sums do not fit the 255 registers of a thread. What spills costs more than the loads that were saved.
#define TM 16
#define TN 16
#define KERNEL gemm_variants_06_tile_16x16
#define NAME "06_tile_16x16"
#include "plain.cuh"
