// Rung 9: the next slab travels while this one is multiplied.
//
// Change from rung 8: shared memory holds STAGES slabs, filled by cp.async (LDGSTS: no register in between), and the
// fragments of the next k-step are read from shared memory while this one's FMAs issue. One barrier per slab, not two.
// Expect: long scoreboard and barrier stalls nearly gone, issue-active and FMA pipe up; more shared memory, fewer blocks.
//
//      slab:      t        t + 1     t + 2          +------BN-------+
//             +--------+ +--------+ +--------+      |      Bs       | BK      warp and lane tiles as in rung 8:
//      copy   |........| |........| |issued  |      +---WN--+-------+         rows    4 y + 0..3 per band of 16
//      multiply read    ^ first fragment         WM |  w 0  |  w 1  | BM      columns 4 x + 0..3 per band of 32
//             +--------+ +--------+ +--------+      +-------+-------+
//                      barrier, before t's last k-step
//
// Traffic per element: as in rung 8. A is transposed on its way by 4-byte copies, two lanes to a bank; B goes by 16.
// Tile shape: -DGEMM_BM=... and so on override the choice (all of them or none); NOTES.md has the sweep.
#include "device.cuh"
#include "harness.cuh"

#ifndef GEMM_BM
#define GEMM_BM 64
#define GEMM_BN 128
#define GEMM_BK 16
#define GEMM_TM 8
#define GEMM_TN 8
#define GEMM_STAGES 2
#define GEMM_MIN_BLOCKS 4
#endif

constexpr int BM = GEMM_BM, BN = GEMM_BN, BK = GEMM_BK, TM = GEMM_TM, TN = GEMM_TN, STAGES = GEMM_STAGES;
constexpr int MIN_BLOCKS = GEMM_MIN_BLOCKS;  // blocks an SM must have room for: caps the registers of a thread
constexpr int PAD = 4;                       // floats: keeps the rows of As 16-byte aligned
constexpr int LANES_M = 4, LANES_N = 8;
constexpr int WM = LANES_M * TM, WN = LANES_N * TN;  // the tile of a warp
constexpr int THREADS = 32 * (BM / WM) * (BN / WN);
constexpr int ROW_BAND = 4 * LANES_M, COL_BAND = 4 * LANES_N;
constexpr int A_ROWS = THREADS / BK;  // rows of A that one pass of the block's threads copies
constexpr int B_ROWS = THREADS / (BN / 4);
constexpr int A_STRIDE = BM + PAD;
constexpr int A_FLOATS = BK * A_STRIDE, STAGE_FLOATS = A_FLOATS + BK * BN;
constexpr int SHARED_BYTES = STAGES * STAGE_FLOATS * 4;
static_assert(BK % 4 == 0 && BN % 4 == 0 && TM % 4 == 0 && TN % 4 == 0, "float4 needs multiples of four");
static_assert(BM % WM == 0 && BN % WN == 0 && THREADS <= 1024, "warp tiles must cover the block tile, 1024 threads at most");
static_assert(THREADS % BK == 0 && BM % A_ROWS == 0, "whole passes of the block's threads must cover As");
static_assert(THREADS % (BN / 4) == 0 && BK % B_ROWS == 0, "whole passes of the block's threads must cover Bs");
static_assert(STAGES >= 2 && BK >= 2, "one slab is read while another is written");
static_assert(SHARED_BYTES * MIN_BLOCKS <= 160 * 1024, "sm_80 has 160 KB of shared memory for all blocks of an SM");

template <bool FULL>
__global__ void __launch_bounds__(THREADS, MIN_BLOCKS)
gemm_09_double_buffered(int m, int n, int k, const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c) {
    extern __shared__ float4 shared[];
    float* const stages = reinterpret_cast<float*>(shared);
    const int row0 = blockIdx.y * BM, col0 = blockIdx.x * BN;
    const int a_row = threadIdx.x / BK, a_col = threadIdx.x % BK;
    const int b_row = threadIdx.x / (BN / 4), b_col = threadIdx.x % (BN / 4) * 4;
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int row = warp / (BN / WN) * WM + (lane % 2 + lane / 16 * 2) * 4;
    const int col = warp % (BN / WN) * WN + lane / 2 % 8 * 4;
    // Where this thread's copies start, and how much of the matrix lies beyond.
    const float* a_at = a + size_t(row0 + a_row) * k + a_col;
    const float* b_at = b + size_t(b_row) * n + col0 + b_col;
    const int a_rows = m - row0 - a_row, a_valid = k - a_col;
    const int b_rows = k - b_row, b_valid = n - col0 - b_col;

    const uint32_t a_to = shared_address(stages + a_col * A_STRIDE + a_row);
    const uint32_t b_to = shared_address(stages + A_FLOATS + b_row * BN + b_col);

    // Queues the copy of the slab that starts at k0; a slab past the end is an empty group, to keep the count.
    const auto copy_slab = [&](int stage, int k0) {
        const uint32_t offset = stage * STAGE_FLOATS * 4;
        if (k0 < k) {
            const float* a_from = a_at;
#pragma unroll
            for (int y = 0; y < BM; y += A_ROWS, a_from = rows_below<A_ROWS>(a_from, k))
                copy_async_1<FULL>(a_to + offset + 4 * y, a_from, y < a_rows ? a_valid - k0 : 0);
            const float* b_from = b_at;
#pragma unroll
            for (int y = 0; y < BK; y += B_ROWS, b_from = rows_below<B_ROWS>(b_from, n))
                copy_async_4<FULL>(b_to + offset + 4 * y * BN, b_from, k0 + y < b_rows ? b_valid : 0);
            a_at += BK;
            b_at = rows_below<BK>(b_at, n);
        }
        copy_async_commit();
    };

    float sum[TM][TN] = {};
    float a_part[2][TM], b_part[2][TN];  // this k-step's fragments and the next one's
    const auto read_fragments = [&](int into, int stage, int kk) {
        const float* const as = stages + row + stage * STAGE_FLOATS;
        const float* const bs = stages + col + stage * STAGE_FLOATS + A_FLOATS;
#pragma unroll
        for (int i = 0; i < TM; i += 4) read_4(&a_part[into][i], as + kk * A_STRIDE + i / 4 * ROW_BAND);
#pragma unroll
        for (int j = 0; j < TN; j += 4) read_4(&b_part[into][j], bs + kk * BN + j / 4 * COL_BAND);
    };

#pragma unroll
    for (int s = 0; s < STAGES - 1; ++s) copy_slab(s, s * BK);
    copy_async_wait<STAGES - 2>();
    __syncthreads();
    read_fragments(0, 0, 0);

    int reading = 0, writing = STAGES - 1;
    for (int k0 = 0; k0 < k; k0 += BK) {
#pragma unroll
        for (int kk = 0; kk < BK; ++kk) {
            if (kk == BK - 1) {
                copy_async_wait<STAGES - 2>();
                __syncthreads();
                writing = reading;
                reading = reading + 1 == STAGES ? 0 : reading + 1;
            }
            read_fragments((kk + 1) % 2, reading, (kk + 1) % BK);
            if (kk == 0) copy_slab(writing, k0 + (STAGES - 1) * BK);
            walk_in_columns<TM, TN>([&](int i, int j) { sum[i][j] += a_part[kk % 2][i] * b_part[kk % 2][j]; });
        }
    }
#pragma unroll
    for (int i = 0; i < TM; ++i) {
        const int c_row = row0 + row + i / 4 * ROW_BAND + i % 4;
#pragma unroll
        for (int j = 0; j < TN; j += 4) {
            const int c_col = col0 + col + j / 4 * COL_BAND;
            store_4<FULL>(c + size_t(c_row) * n + c_col, c_row < m ? n - c_col : 0,
                          make_float4(sum[i][j], sum[i][j + 1], sum[i][j + 2], sum[i][j + 3]));
        }
    }
}

void launch(const harness::Gemm<float>& g) {
    const dim3 grid = harness::grid_of_tiles(g.m, g.n, BM, BN);
    const bool full = g.m % BM == 0 && g.n % BN == 0 && g.k % BK == 0;
    const auto kernel = full ? gemm_09_double_buffered<true> : gemm_09_double_buffered<false>;
    CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, SHARED_BYTES));
    kernel<<<grid, THREADS, SHARED_BYTES>>>(g.m, g.n, g.k, g.a, g.b, g.c);
}

int main(int argc, char** argv) { return harness::run<harness::Multiplication<float>>(argc, argv, {"09_double_buffered", launch}); }
