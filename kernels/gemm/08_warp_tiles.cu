// Rung 8: a warp owns a compact tile of C, and its lanes are dealt so that shared reads come back two for one.
//
// Change from rung 7: between block and thread stands the warp. Its 32 lanes form a grid of 4 x 8 whose tile is
// 4 TM x 8 TN, where rung 7's warp was a strip of 2 x 16: fewer distinct elements per k-step for the same FMAs.
// Expect: fewer shared-memory wavefronts per LDS.128 (4 to 2), MIO and short scoreboard down, FMA pipe up.
//
//                    +------BN-------+         warp w: row w / (BN / WN), column w % (BN / WN) of warp tiles
//                    |      Bs       | BK      lane l: y = l % 2 + 2 (l / 16), x = l / 2 % 8
//                    +---WN--+-------+
//      +--BM--+pad   +-------+-------+         its rows:    4 y + 0..3 in each of TM / 4 bands of 16
//   BK |  As  |   WM |  w 0  |  w 1  |         its columns: 4 x + 0..3 in each of TN / 4 bands of 32
//      +------+      +-------+-------+ BM
//      (transposed)  |  w 2  |  w 3  |         lanes l and l ^ 1 share x, lanes l and l ^ 2 share y:
//                    +-------+-------+         with such pairs an LDS.128 takes 2 wavefronts, not 4
//
// Traffic per element: as in rung 7; per warp and k-step 4 TM + 8 TN distinct floats for 32 TM TN FMAs.
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
constexpr int LANES_M = 4, LANES_N = 8;
constexpr int WM = LANES_M * TM, WN = LANES_N * TN;  // the tile of a warp
constexpr int THREADS = 32 * (BM / WM) * (BN / WN);
constexpr int ROW_BAND = 4 * LANES_M, COL_BAND = 4 * LANES_N;
constexpr int A_ROWS = THREADS / (BK / 4);  // rows of A that one pass of the block's threads copies
constexpr int B_ROWS = THREADS / (BN / 4);
static_assert(BK % 4 == 0 && BN % 4 == 0 && TM % 4 == 0 && TN % 4 == 0, "float4 needs multiples of four");
static_assert(BM % WM == 0 && BN % WN == 0 && THREADS <= 1024, "warp tiles must cover the block tile, 1024 threads at most");
static_assert(THREADS % (BK / 4) == 0 && BM % A_ROWS == 0, "whole passes of the block's threads must cover As");
static_assert(THREADS % (BN / 4) == 0 && BK % B_ROWS == 0, "whole passes of the block's threads must cover Bs");
static_assert((BK * (BM + PAD) + BK * BN) * 4 <= 48 * 1024, "static shared memory ends at 48 KB");

template <bool FULL>
__global__ void __launch_bounds__(THREADS, MIN_BLOCKS)
gemm_08_warp_tiles(int m, int n, int k, const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c) {
    __shared__ alignas(16) float as[BK][BM + PAD];
    __shared__ alignas(16) float bs[BK][BN];
    const int row0 = blockIdx.y * BM, col0 = blockIdx.x * BN;
    const int a_row = threadIdx.x / (BK / 4), a_col = threadIdx.x % (BK / 4) * 4;
    const int b_row = threadIdx.x / (BN / 4), b_col = threadIdx.x % (BN / 4) * 4;
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int row = warp / (BN / WN) * WM + (lane % 2 + lane / 16 * 2) * 4;
    const int col = warp % (BN / WN) * WN + lane / 2 % 8 * 4;
    // Where this thread's copies start, and how much of the matrix lies beyond.
    const float* a_at = a + size_t(row0 + a_row) * k + a_col;
    const float* b_at = b + size_t(b_row) * n + col0 + b_col;
    const int a_rows = m - row0 - a_row, a_valid = k - a_col;
    const int b_rows = k - b_row, b_valid = n - col0 - b_col;

    const auto copy_slab = [&](int k0) {
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
    };

    float sum[TM][TN] = {};
    float a_part[TM], b_part[TN];  // this k-step's fragments
    const auto read_fragments = [&](int kk) {
#pragma unroll
        for (int i = 0; i < TM; ++i) a_part[i] = as[kk][row + i / 4 * ROW_BAND + i % 4];
#pragma unroll
        for (int j = 0; j < TN; ++j) b_part[j] = bs[kk][col + j / 4 * COL_BAND + j % 4];
    };

    for (int k0 = 0; k0 < k; k0 += BK) {
        copy_slab(k0);
        __syncthreads();
#pragma unroll
        for (int kk = 0; kk < BK; ++kk) {
            read_fragments(kk);
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
    const auto kernel = full ? gemm_08_warp_tiles<true> : gemm_08_warp_tiles<false>;
    kernel<<<grid, THREADS>>>(g.m, g.n, g.k, g.a, g.b, g.c);
}

int main(int argc, char** argv) { return harness::run<harness::Multiplication<float>>(argc, argv, {"08_warp_tiles", launch}); }
