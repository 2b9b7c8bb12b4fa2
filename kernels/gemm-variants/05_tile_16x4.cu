// Variant 5: a thread computes 16 x 4 elements of C, as many as 8 x 8 and less square.
//
// Change from variant 1: 20 shared elements feed 64 FMAs, 3.2 for each instead of 4.
// Expect: slower than variant 1.
#define TM 16
#define TN 4
#define KERNEL gemm_variants_05_tile_16x4
#define NAME "05_tile_16x4"
#include "plain.cuh"
