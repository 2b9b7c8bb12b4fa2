// Rung 7: four changes at once, against bank conflicts in shared memory and in the register file; a sweep chose the tile.
//
// Changes from rung 6: (1) rows of As are padded by 4 floats, so that the transposing stores spread over the banks; and by
// measurement, (2) 64 x 128 tiles, (3) four blocks an SM, and (4) the FMAs of a k-step walked in 4 x 4 blocks.
// Expect: shared-memory conflicts of stores halved or better, barrier stalls down (four blocks cover for each other),
// dispatch stalls down, FMA pipe up. A dispatch stall here is a register bank asked twice: an FMA reads three registers, the
// file has two banks, and only an operand shared with the FMA before, from the reuse cache, makes it one read per bank.
//
//                    +------BN-------+         thread t: ty = t / (BN / TN), tx = t % (BN / TN)
//                    |      Bs       | BK      rows and columns in bands of four, as in rung 6
//                    +--4-------4----+
//      +--BM--+pad   +---------------+         walk of one 4 x 4 block of a thread's tile:
//   BK |  As  |      |  ##      ##   | 4            |  ,-.  |
//      +------+      |               | BM           |  | |  |     down one column of FMAs, up the next:
//      (transposed)  |  ##      ##   | 4            |  | |  |     b stays in a column, a at its end
//                    +---------------+              '--' '--'
//
// Traffic per element: (K/BM + K/BN) floats from global memory; K (TM + TN) / (4 TM TN) shared loads for K FMAs.
// Tile shape: -DGEMM_BM=... and so on override the choice (all of them or none); NOTES.md has the sweep.
#include "device.cuh"
#include "harness.cuh"

#ifndef GEMM_BM
#define GEMM_BM 64
#define GEMM_BN 128
#define GEMM_BK 16
#define GEMM_TM 8
#define GEMM_TN 8
#define GEMM_MIN_BLOCKS 4
#endif

constexpr int BM = GEMM_BM, BN = GEMM_BN, BK = GEMM_BK, TM = GEMM_TM, TN = GEMM_TN;
constexpr int MIN_BLOCKS = GEMM_MIN_BLOCKS;  // blocks an SM must have room for: caps the registers of a thread
constexpr int PAD = 4;                       // floats: keeps the rows of As 16-byte aligned
constexpr int THREADS = (BM / TM) * (BN / TN);
constexpr int ROW_BAND = 4 * BM / TM, COL_BAND = 4 * BN / TN;  // from four elements of a thread to its next four
constexpr int A_ROWS = THREADS / (BK / 4);  // rows of A that one pass of the block's threads copies
constexpr int B_ROWS = THREADS / (BN / 4);
static_assert(BK % 4 == 0 && BN % 4 == 0 && TM % 4 == 0 && TN % 4 == 0, "float4 needs multiples of four");
static_assert(BM % TM == 0 && BN % TN == 0 && THREADS <= 1024, "thread tiles must cover the block tile, 1024 threads at most");
static_assert(THREADS % (BK / 4) == 0 && BM % A_ROWS == 0, "whole passes of the block's threads must cover As");
static_assert(THREADS % (BN / 4) == 0 && BK % B_ROWS == 0, "whole passes of the block's threads must cover Bs");
static_assert((BK * (BM + PAD) + BK * BN) * 4 <= 48 * 1024, "static shared memory ends at 48 KB");

template <bool FULL>
__global__ void __launch_bounds__(THREADS, MIN_BLOCKS)
gemm_07_conflict_free(int m, int n, int k, const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c) {
    __shared__ alignas(16) float as[BK][BM + PAD];
    __shared__ alignas(16) float bs[BK][BN];
    const int row0 = blockIdx.y * BM, col0 = blockIdx.x * BN;
    const int a_row = threadIdx.x / (BK / 4), a_col = threadIdx.x % (BK / 4) * 4;
    const int b_row = threadIdx.x / (BN / 4), b_col = threadIdx.x % (BN / 4) * 4;
    const int row = threadIdx.x / (BN / TN) * 4, col = threadIdx.x % (BN / TN) * 4;
    // Where this thread's copies start, and how much of the matrix lies beyond.
    const float* a_at = a + size_t(row0 + a_row) * k + a_col;
    const float* b_at = b + size_t(b_row) * n + col0 + b_col;
    const int a_rows = m - row0 - a_row, a_valid = k - a_col;
    const int b_rows = k - b_row, b_valid = n - col0 - b_col;
    float sum[TM][TN] = {};
    for (int k0 = 0; k0 < k; k0 += BK) {
#pragma unroll
        for (int y = 0; y < BM; y += A_ROWS) {
            const float4 part = load_4<FULL>(a_at + size_t(y) * k + k0, y < a_rows ? a_valid - k0 : 0);
            as[a_col + 0][a_row + y] = part.x;
            as[a_col + 1][a_row + y] = part.y;
            as[a_col + 2][a_row + y] = part.z;
            as[a_col + 3][a_row + y] = part.w;
        }
#pragma unroll
        for (int y = 0; y < BK; y += B_ROWS)
            *reinterpret_cast<float4*>(&bs[b_row + y][b_col]) =
                load_4<FULL>(b_at + size_t(k0 + y) * n, k0 + y < b_rows ? b_valid : 0);
        __syncthreads();
#pragma unroll
        for (int kk = 0; kk < BK; ++kk) {
            float a_part[TM], b_part[TN];
#pragma unroll
            for (int i = 0; i < TM; ++i) a_part[i] = as[kk][row + i / 4 * ROW_BAND + i % 4];
#pragma unroll
            for (int j = 0; j < TN; ++j) b_part[j] = bs[kk][col + j / 4 * COL_BAND + j % 4];
            walk_in_blocks<TM, TN>([&](int i, int j) { sum[i][j] += a_part[i] * b_part[j]; });
        }
        __syncthreads();
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
    const auto kernel = full ? gemm_07_conflict_free<true> : gemm_07_conflict_free<false>;
    kernel<<<grid, THREADS>>>(g.m, g.n, g.k, g.a, g.b, g.c);
}

int main(int argc, char** argv) { return harness::run<harness::Multiplication<float>>(argc, argv, {"07_conflict_free", launch}); }
