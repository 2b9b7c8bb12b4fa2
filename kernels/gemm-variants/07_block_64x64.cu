// Variant 7: a block computes 64 x 64 elements of C with 64 threads.
//
// Change from variant 1: a quarter of the block's tile, so that each element of A and B is loaded twice as often.
// Expect: close to variant 1, as long as the L2 delivers what the global loads ask for.
#define BM 64
#define BN 64
#define KERNEL gemm_variants_07_block_64x64
#define NAME "07_block_64x64"
#include "plain.cuh"
