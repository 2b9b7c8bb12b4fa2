// Rung 16: a tile of C leaves while the next one is multiplied.
//
// Change from rung 15: there, between two tiles, both consumers lay their sums down box by box and wait for the copy engine, and
// nobody multiplies. Here a lane packs its 128 sums into 64 registers, starts the next tile, and lays a box down under each of
// its first four slabs.
// Expect: the tensor pipe busy between tiles too. `multiply` is in leaving.cuh, since rung 17 does the same.
//
//       tensor cores   | tile 0 ............ |p| tile 1 ................... |p| tile 2         p: packs
//       copy engine                              C of tile 0: 0, 1, 2, 3       C of tile 1: ...
//
// For sm_90a, and rows of multiples of 16 bytes, which TMA asks for; refuses everything else.
#include "harness.cuh"
#include "leaving.cuh"

__global__ void __launch_bounds__(THREADS, 1)
gemm_16_overlapped_stores(int m, int n, int k, const __grid_constant__ CUtensorMap a_map, const __grid_constant__ CUtensorMap b_map,
                          const __grid_constant__ CUtensorMap c_map) {
#if TARGET_HAS_WGMMA
    multiply<false>(Tiles<bf16>{m, n, k}, a_map, b_map, c_map);
#endif
}

void launch(const harness::Gemm<bf16, bf16>& g) {
    if (!target_has_wgmma()) harness::fail(harness::UNSUPPORTED, "this rung is written for sm_90a");
    if (g.n % 8 || g.k % 8) harness::fail(harness::UNSUPPORTED, "n and k must be multiples of 8, not %d and %d", g.n, g.k);
    const int64_t tiles = int64_t(harness::tiles(g.m, CLUSTER * BM)) * harness::tiles(g.n, BN);
    launch_persistent(gemm_16_overlapped_stores, CLUSTER, THREADS, LEAVING_BYTES, tiles, g.m, g.n, g.k, map_of_a(g), map_of_b(g),
                      harness::tensor_map(g.c, g.m, g.n, 16, C_COLUMNS, CU_TENSOR_MAP_SWIZZLE_128B));
}

int main(int argc, char** argv) { return harness::run<harness::Multiplication<bf16, bf16>>(argc, argv, {"16_overlapped_stores", launch}); }
