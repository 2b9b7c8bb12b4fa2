// Rung 17: E4M3, the eight-bit numbers of the tensor cores, and C in BF16.
//
// Change from rung 16: the numbers. A slab of 128 bytes a row holds 128 k instead of 64, and a matrix instruction takes 32 of
// them at once, twice as many as of BF16 in the same time. Tensor cores want both operands of one byte with k adjacent, so B
// is stored by columns, as cuBLAS asks for it too. Sums keep 13 bits below the first of the largest summand: "fast accumulation".
// Expect: twice the rate, so everything that is not a product weighs twice as much; half the bytes of A and B.
//
// For sm_90a, n of multiples of 8 and k of multiples of 16, which TMA asks for; refuses everything else.
#include "harness.cuh"
#include "leaving.cuh"

using harness::e4m3;

__global__ void __launch_bounds__(THREADS, 1)
gemm_17_fp8(int m, int n, int k, const __grid_constant__ CUtensorMap a_map, const __grid_constant__ CUtensorMap b_map,
            const __grid_constant__ CUtensorMap c_map) {
#if TARGET_HAS_WGMMA
    multiply<false>(Tiles<e4m3>{m, n, k}, a_map, b_map, c_map);
#endif
}

void launch(const harness::Gemm<e4m3, bf16>& g) {
    if (!target_has_wgmma()) harness::fail(harness::UNSUPPORTED, "this rung is written for sm_90a");
    if (g.n % 8 || g.k % 16)
        harness::fail(harness::UNSUPPORTED, "n must be a multiple of 8 and k of 16, not %d and %d", g.n, g.k);
    const int64_t tiles = int64_t(harness::tiles(g.m, CLUSTER * BM)) * harness::tiles(g.n, BN);
    launch_persistent(gemm_17_fp8, CLUSTER, THREADS, LEAVING_BYTES, tiles, g.m, g.n, g.k, map_of_a(g), map_of_b(g),
                      harness::tensor_map(g.c, g.m, g.n, 16, C_COLUMNS, CU_TENSOR_MAP_SWIZZLE_128B));
}

int main(int argc, char** argv) { return harness::run<harness::Multiplication<e4m3, bf16>>(argc, argv, {"17_fp8", launch}); }
