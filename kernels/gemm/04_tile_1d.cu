// Rung 4: a thread computes a column of TM = 8 elements of C.
//
// Change from rung 3: one element of Bs, once in a register, serves eight FMAs; the tile grows to 64 x 64.
// Expect: shared loads per FMA fall from 2 to 9/8, global loads per FMA by half, MIO throttle falls and
// short scoreboard (waiting for the few loads that remain) dominates.
//
//                   +----64----+
//                   |    Bs    | 32        block: 64 x 64 elements of C, 512 threads
//                   +----------+           thread t: column t % 64, rows 8 (t / 64) to 8 (t / 64) + 7
//        +-32-+     +----------+
//        |    |     |  .       |           per k-step and thread: 8 elements of As (one address for
//     64 | As |     |  : 8     | 64        the whole warp: a broadcast) and 1 of Bs for 8 FMAs
//        |    |     |  .       |
//        +----+     +----------+           per slab and thread: 8 global loads, 2 barriers
//
// Traffic per element: 2K/64 global loads, 9K/8 shared elements for K FMAs. The k loop is unrolled, so the compiler
// fetches four k of a row of As by one LDS.128: 3 shared loads for 8 FMAs, not the 9 that the account counts.
// Slabs of 32: measured 41 % of cuBLAS on an H200, against 32 with slabs of 8 (NOTES.md).
#include "device.cuh"
#include "harness.cuh"

constexpr int BM = 64, BN = 64, BK = 32, TM = 8;
constexpr int THREADS = BM * BN / TM;
constexpr int A_ROWS = THREADS / BK;  // rows of As that one pass of the block's threads copies
constexpr int B_ROWS = THREADS / BN;
static_assert(BM % TM == 0 && THREADS <= 1024, "thread tiles must cover the block tile, 1024 threads at most");
static_assert(THREADS % BK == 0 && BM % A_ROWS == 0, "whole passes of the block's threads must cover As");
static_assert(THREADS % BN == 0 && BK % B_ROWS == 0, "whole passes of the block's threads must cover Bs");
static_assert(BN % 32 == 0, "a warp must stay within one row of C, so that its As reads are broadcasts");

template <bool FULL>
__global__ void __launch_bounds__(THREADS)
gemm_04_tile_1d(int m, int n, int k, const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c) {
    __shared__ float as[BM][BK];
    __shared__ float bs[BK][BN];
    const int row0 = blockIdx.y * BM, col0 = blockIdx.x * BN;
    const int a_row = threadIdx.x / BK, a_col = threadIdx.x % BK;
    const int b_row = threadIdx.x / BN, b_col = threadIdx.x % BN;
    const int row = threadIdx.x / BN * TM, col = threadIdx.x % BN;
    // Where this thread's copies start, and how much of the matrix lies beyond.
    const float* a_at = a + size_t(row0 + a_row) * k + a_col;
    const float* b_at = b + size_t(b_row) * n + col0 + b_col;
    const int a_rows = m - row0 - a_row, a_valid = k - a_col;
    const int b_rows = k - b_row, b_valid = n - col0 - b_col;
    float sum[TM] = {};
    for (int k0 = 0; k0 < k; k0 += BK) {
#pragma unroll
        for (int y = 0; y < BM; y += A_ROWS)
            as[a_row + y][a_col] = load_1<FULL>(a_at + size_t(y) * k + k0, y < a_rows ? a_valid - k0 : 0);
#pragma unroll
        for (int y = 0; y < BK; y += B_ROWS)
            bs[b_row + y][b_col] = load_1<FULL>(b_at + size_t(k0 + y) * n, k0 + y < b_rows ? b_valid : 0);
        __syncthreads();
#pragma unroll
        for (int kk = 0; kk < BK; ++kk) {
            const float b_element = bs[kk][col];
#pragma unroll
            for (int i = 0; i < TM; ++i) sum[i] += as[row + i][kk] * b_element;
        }
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < TM; ++i) {
        const int c_row = row0 + row + i;
        store_1<FULL>(c + size_t(c_row) * n + col0 + col, c_row < m ? n - col0 - col : 0, sum[i]);
    }
}

void launch(const harness::Gemm<float>& g) {
    const dim3 grid = harness::grid_of_tiles(g.m, g.n, BM, BN);
    const bool full = g.m % BM == 0 && g.n % BN == 0 && g.k % BK == 0;
    const auto kernel = full ? gemm_04_tile_1d<true> : gemm_04_tile_1d<false>;
    kernel<<<grid, THREADS>>>(g.m, g.n, g.k, g.a, g.b, g.c);
}

int main(int argc, char** argv) { return harness::run<harness::Multiplication<float>>(argc, argv, {"04_tile_1d", launch}); }
