// Variant 1: the plain register tile of 8 x 8, what rung 5 of ../gemm is in the article's own layout.
//
// Expect: 8 scalar LDS of A and 2 LDS.128 of B per k-step; eight neighbouring columns a thread put its LDS.128 of B in
// conflict with those of other lanes.
#define KERNEL gemm_variants_01_plain_2d
#define NAME "01_plain_2d"
#include "plain.cuh"
