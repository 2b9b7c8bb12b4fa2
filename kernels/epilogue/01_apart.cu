// Rung 1: a product, rung 16 of the GEMM ladder, and then a kernel for bias and GELU.
//
// Expect: the product's time and that of reading and writing C once more, 67 MB at 4096, less what the L2 has kept. The product is rounded
// to BF16 before the bias is added, so errors are larger than in rung 2.
//
// For sm_90a, and rows of multiples of 16 bytes, which TMA asks for; refuses everything else.
#include "../gemm/harness.cuh"
#include "../gemm/leaving.cuh"

__global__ void __launch_bounds__(THREADS, 1)
epilogue_01_product(int m, int n, int k, const __grid_constant__ CUtensorMap a_map, const __grid_constant__ CUtensorMap b_map,
                    const __grid_constant__ CUtensorMap c_map) {
#if TARGET_HAS_WGMMA
    multiply<false>(Tiles<bf16>{m, n, k}, a_map, b_map, c_map);
#endif
}

// In place, eight columns a thread.
__global__ void __launch_bounds__(256) epilogue_01_activation(uint4* c, const uint4* bias, unsigned vectors, unsigned row_vectors) {
#if TARGET_HAS_WGMMA
    const unsigned i = blockIdx.x * 256 + threadIdx.x;
    if (i >= vectors) return;
    uint4 eight = c[i];
    const uint4 eight_bias = bias[i % row_vectors];
    auto* const pairs = reinterpret_cast<__nv_bfloat162*>(&eight);
    const auto* const pairs_of_bias = reinterpret_cast<const __nv_bfloat162*>(&eight_bias);
#pragma unroll
    for (int pair = 0; pair < 4; ++pair) {
        const float2 x = __bfloat1622float2(pairs[pair]), b = __bfloat1622float2(pairs_of_bias[pair]);
        pairs[pair] = __floats2bfloat162_rn(gelu_of_twice(0.5f * (x.x + b.x)), gelu_of_twice(0.5f * (x.y + b.y)));
    }
    c[i] = eight;
#endif
}

void launch(const harness::Gemm<bf16, bf16>& g) {
    if (!target_has_wgmma()) harness::fail(harness::UNSUPPORTED, "this rung is written for sm_90a");
    if (g.n % 8 || g.k % 8) harness::fail(harness::UNSUPPORTED, "n and k must be multiples of 8, not %d and %d", g.n, g.k);
    const int64_t tiles = int64_t(harness::tiles(g.m, CLUSTER * BM)) * harness::tiles(g.n, BN);
    launch_persistent(epilogue_01_product, CLUSTER, THREADS, LEAVING_BYTES, tiles, g.m, g.n, g.k, map_of_a(g), map_of_b(g),
                      harness::tensor_map(g.c, g.m, g.n, 16, C_COLUMNS, CU_TENSOR_MAP_SWIZZLE_128B));
    const unsigned vectors = unsigned(size_t(g.m) * g.n / 8);
    epilogue_01_activation<<<harness::tiles(vectors, 256), 256>>>(reinterpret_cast<uint4*>(g.c), reinterpret_cast<const uint4*>(g.bias),
                                                                  vectors, g.n / 8);
}

int main(int argc, char** argv) { return harness::run<harness::Multiplication<bf16, bf16>>(argc, argv, {"01_apart", launch, true, true}); }
