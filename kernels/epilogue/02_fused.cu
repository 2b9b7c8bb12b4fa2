// Rung 2: bias and GELU in the product's epilogue.
//
// Change from rung 1: no second kernel. A lane adds the bias to its sums while they are in registers, in FP32, and packs GELU of them for
// their way out. The bias waits in registers of the tile before, whose sums have left by then.
// Expect: the product's time and that of the arithmetic, which no products hide: 32,768 tanh for a tile of 128 x 256, of which an SM
// does 16 a cycle, and about seven more instructions an element.
//
//       tensor cores   | tile 0 ............ |g| tile 1 ................... |g| tile 2         g: GELU, and packs
//       copy engine                              C of tile 0: 0, 1, 2, 3       C of tile 1: ...
//
// For sm_90a, and rows of multiples of 16 bytes, which TMA asks for; refuses everything else.
#include "../gemm/harness.cuh"
#include "../gemm/leaving.cuh"

__global__ void __launch_bounds__(THREADS, 1)
epilogue_02_fused(int m, int n, int k, const __grid_constant__ CUtensorMap a_map, const __grid_constant__ CUtensorMap b_map,
                    const __grid_constant__ CUtensorMap c_map, const bf16* __restrict__ bias) {
#if TARGET_HAS_WGMMA
    multiply<true>(Tiles<bf16>{m, n, k}, a_map, b_map, c_map, bias);
#endif
}

void launch(const harness::Gemm<bf16, bf16>& g) {
    if (!target_has_wgmma()) harness::fail(harness::UNSUPPORTED, "this rung is written for sm_90a");
    if (g.n % 8 || g.k % 8) harness::fail(harness::UNSUPPORTED, "n and k must be multiples of 8, not %d and %d", g.n, g.k);
    const int64_t tiles = int64_t(harness::tiles(g.m, CLUSTER * BM)) * harness::tiles(g.n, BN);
    launch_persistent(epilogue_02_fused, CLUSTER, THREADS, LEAVING_BYTES, tiles, g.m, g.n, g.k, map_of_a(g), map_of_b(g),
                      harness::tensor_map(g.c, g.m, g.n, 16, C_COLUMNS, CU_TENSOR_MAP_SWIZZLE_128B), g.bias);
}

int main(int argc, char** argv) { return harness::run<harness::Multiplication<bf16, bf16>>(argc, argv, {"02_fused", launch, true}); }
