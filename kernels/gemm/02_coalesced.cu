// Rung 2: neighbouring threads take neighbouring columns.
//
// Change from rung 1: a thread's row and column swap their formulas; nothing else moves.
// Expect: sectors per request fall from 32 to 1 for A (one element, broadcast) and to 4 for B and C (32 adjacent
// floats), L1 throughput stops being the wall, duration falls by an order of magnitude.
//
//        N ->                     block: 32 x 32 elements of C, 1024 threads
//      +----------+               thread t: row t / 32, column t % 32
//    M | w w w w  |               a warp (w) is a row of the block:
//    | |          |                 A: one element for the whole warp, 1 sector
//    v |          |                 B: 32 adjacent floats, 4 sectors, all of them used
//      +----------+
//
// Traffic per element: still 2K loads for K FMAs; only the sectors behind each load changed.
#include "harness.cuh"

constexpr int TILE = 32;

__global__ void __launch_bounds__(TILE* TILE)
gemm_02_coalesced(int m, int n, int k, const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c) {
    const int row = blockIdx.y * TILE + threadIdx.x / TILE;
    const int col = blockIdx.x * TILE + threadIdx.x % TILE;
    if (row >= m || col >= n) return;
    float sum = 0.0f;
    for (int i = 0; i < k; ++i) sum += a[row * k + i] * b[i * n + col];
    c[row * n + col] = sum;
}

void launch(const harness::Gemm<float>& g) {
    static_assert(TILE * TILE <= 1024, "a block has at most 1024 threads, and each owns one element of the tile");
    const dim3 grid = harness::grid_of_tiles(g.m, g.n, TILE, TILE);
    gemm_02_coalesced<<<grid, TILE * TILE>>>(g.m, g.n, g.k, g.a, g.b, g.c);
}

int main(int argc, char** argv) { return harness::run<harness::Multiplication<float>>(argc, argv, {"02_coalesced", launch}); }
