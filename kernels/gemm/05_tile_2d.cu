// Rung 5: a thread computes a square of 8 x 8 elements of C.
//
// Change from rung 4: the register tile grows a second dimension: 16 shared elements feed 64 FMAs, 4 for each, not 0.9.
// Expect: FMA pipe up, short scoreboard drains; what remains is the LSU pipe, because the fragment of A comes from eight rows
// of As and so by eight scalar LDS per k-step. MIO throttle, published as 0.59 for this rung, is only 0.14 here.
//
//                    +------128------+
//                    |      Bs       | 16      block: 128 x 128 elements of C, 256 threads
//                    +--4-------4----+         thread t: ty = t / 16, tx = t % 16
//       +-16-+       +---------------+         its rows:    ty, ty + 16, ... ty + 112
//       |    |       |  ##      ##   |         its columns: 4 tx + 0..3 in each of the 2 bands of 64
//   128 | As |       |               | 128
//       |    |       |  ##      ##   |         per k-step and thread: 8 LDS of As, 8 adjacent-by-four elements
//       +----+       +---------------+         of Bs (the compiler makes 2 LDS.128 of them), 64 FMAs
//
// Traffic per element: 2K/128 global loads, K/4 shared elements for K FMAs.
// The rows of As are BK + 1 floats apart. With BK, the compiler would merge four k of a row into one LDS.128 and the
// scalar loads that rung 6 does away with would be gone already; an odd stride leaves nothing aligned to merge. It also
// keeps the two rows that a warp reads in different banks. Slabs of 16 by measurement (NOTES.md).
#include "device.cuh"
#include "harness.cuh"

constexpr int BM = 128, BN = 128, BK = 16, TM = 8, TN = 8;
constexpr int THREADS = (BM / TM) * (BN / TN);
constexpr int ROW_STEP = BM / TM;       // from one row of a thread to its next
constexpr int COL_BAND = 4 * BN / TN;   // from four columns of a thread to its next four
constexpr int A_ROWS = THREADS / BK;  // rows of As that one pass of the block's threads copies
constexpr int B_ROWS = THREADS / BN;
static_assert(THREADS % BK == 0 && BM % A_ROWS == 0, "whole passes of the block's threads must cover As");
static_assert(THREADS % BN == 0 && BK % B_ROWS == 0, "whole passes of the block's threads must cover Bs");

template <bool FULL>
__global__ void __launch_bounds__(THREADS, FULL ? 2 : 1)
gemm_05_tile_2d(int m, int n, int k, const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c) {
    __shared__ float as[BM][BK + 1];
    __shared__ float bs[BK][BN];
    const int row0 = blockIdx.y * BM, col0 = blockIdx.x * BN;
    const int a_row = threadIdx.x / BK, a_col = threadIdx.x % BK;
    const int b_row = threadIdx.x / BN, b_col = threadIdx.x % BN;
    const int row = threadIdx.x / (BN / TN), col = threadIdx.x % (BN / TN) * 4;
    // Where this thread's copies start, and how much of the matrix lies beyond.
    const float* a_at = a + size_t(row0 + a_row) * k + a_col;
    const float* b_at = b + size_t(b_row) * n + col0 + b_col;
    const int a_rows = m - row0 - a_row, a_valid = k - a_col;
    const int b_rows = k - b_row, b_valid = n - col0 - b_col;
    float sum[TM][TN] = {};
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
            float a_part[TM], b_part[TN];
#pragma unroll
            for (int i = 0; i < TM; ++i) a_part[i] = as[row + i * ROW_STEP][kk];
#pragma unroll
            for (int j = 0; j < TN; ++j) b_part[j] = bs[kk][col + j / 4 * COL_BAND + j % 4];
            walk_in_columns<TM, TN>([&](int i, int j) { sum[i][j] += a_part[i] * b_part[j]; });
        }
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < TM; ++i) {
        const int c_row = row0 + row + i * ROW_STEP;
#pragma unroll
        for (int j = 0; j < TN; ++j) {
            const int c_col = col0 + col + j / 4 * COL_BAND + j % 4;
            store_1<FULL>(c + size_t(c_row) * n + c_col, c_row < m ? n - c_col : 0, sum[i][j]);
        }
    }
}

void launch(const harness::Gemm<float>& g) {
    const dim3 grid = harness::grid_of_tiles(g.m, g.n, BM, BN);
    const bool full = g.m % BM == 0 && g.n % BN == 0 && g.k % BK == 0;
    const auto kernel = full ? gemm_05_tile_2d<true> : gemm_05_tile_2d<false>;
    kernel<<<grid, THREADS>>>(g.m, g.n, g.k, g.a, g.b, g.c);
}

int main(int argc, char** argv) { return harness::run<harness::Multiplication<float>>(argc, argv, {"05_tile_2d", launch}); }
