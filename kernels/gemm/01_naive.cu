// Rung 1: one thread computes one element of C.
//
// Change from nothing: the three loops of the definition, the two outer ones spread over threads.
// Expect: nearly all time is waiting for memory. The 32 threads of a warp hold 32 different rows of one column, so a
// load of A touches 32 sectors to use 4 bytes of each, and a store of C does the same.
//
//        N ->                     block: 32 x 32 elements of C, 1024 threads
//      +----------+               thread t: row t % 32, column t / 32
//    M | w w w    |               a warp (w) is a column of the block:
//    | | w w w    |                 A: 32 rows apart by 4K bytes, 32 sectors per load
//    v | w w w    |                 B: one element for the whole warp, 1 sector
//      +----------+
//
// Traffic per element: 2K loads from L1 or beyond for K FMAs, so 0.5 FMA per load.
#include "harness.cuh"

constexpr int TILE = 32;

__global__ void __launch_bounds__(TILE* TILE)
gemm_01_naive(int m, int n, int k, const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c) {
    const int row = blockIdx.y * TILE + threadIdx.x % TILE;
    const int col = blockIdx.x * TILE + threadIdx.x / TILE;
    if (row >= m || col >= n) return;
    float sum = 0.0f;
    for (int i = 0; i < k; ++i) sum += a[row * k + i] * b[i * n + col];
    c[row * n + col] = sum;
}

void launch(const harness::Gemm<float>& g) {
    static_assert(TILE * TILE <= 1024, "a block has at most 1024 threads, and each owns one element of the tile");
    const dim3 grid = harness::grid_of_tiles(g.m, g.n, TILE, TILE);
    gemm_01_naive<<<grid, TILE * TILE>>>(g.m, g.n, g.k, g.a, g.b, g.c);
}

int main(int argc, char** argv) { return harness::run<harness::Multiplication<float>>(argc, argv, {"01_naive", launch}); }
