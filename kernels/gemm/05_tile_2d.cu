// Rung 5: a thread computes a square of 8 x 8 elements of C.
//
// Change from rung 4: the register tile grows a second dimension: 16 shared loads feed 64 FMAs, 4 per load, not 0.9.
// Expect: FMA pipe up, short scoreboard drains; what remains is MIO throttle, because every element of a fragment is a
// load of its own: per k-step eight scalar LDS for A, from eight rows of As, and eight for B.
//
//                    +------128------+
//                    |      Bs       | 16      block: 128 x 128 elements of C, 256 threads
//                    +---------------+         thread t: ty = t / 16, tx = t % 16
//       +-16-+       +---------------+         its rows:    ty, ty + 16, ... ty + 112
//       |    |       |  o   o   o    |         its columns: tx, tx + 16, ... tx + 112
//   128 | As |       |               | 128
//       |    |       |  o   o   o    |         neighbours in tx read neighbouring floats of Bs, and the two
//       +----+       +---------------+         ty of a warp read As 17 floats apart: no bank conflicts
//
// Traffic per element: 2K/128 global loads, K/4 shared loads for K FMAs.
// The rows of As are BK + 1 floats apart. With BK, the compiler would merge four k of a row into one LDS.128 and the
// scalar loads that rung 6 does away with would be gone already; an odd stride leaves nothing aligned to merge.
#include "device.cuh"
#include "harness.cuh"

constexpr int BM = 128, BN = 128, BK = 16, TM = 8, TN = 8;
constexpr int THREADS = (BM / TM) * (BN / TN);
constexpr int ROW_STEP = BM / TM, COL_STEP = BN / TN;  // from one element of a thread to its next
constexpr int A_ROWS = THREADS / BK;  // rows of As that one pass of the block's threads copies
constexpr int B_ROWS = THREADS / BN;
static_assert(THREADS % BK == 0 && BM % A_ROWS == 0, "whole passes of the block's threads must cover As");
static_assert(THREADS % BN == 0 && BK % B_ROWS == 0, "whole passes of the block's threads must cover Bs");

template <bool FULL>
__global__ void __launch_bounds__(THREADS, 2)
gemm_05_tile_2d(int m, int n, int k, const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c) {
    __shared__ float as[BM][BK + 1];
    __shared__ float bs[BK][BN];
    const int row0 = blockIdx.y * BM, col0 = blockIdx.x * BN;
    const int a_row = threadIdx.x / BK, a_col = threadIdx.x % BK;
    const int b_row = threadIdx.x / BN, b_col = threadIdx.x % BN;
    const int row = threadIdx.x / (BN / TN), col = threadIdx.x % (BN / TN);
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
            for (int j = 0; j < TN; ++j) b_part[j] = bs[kk][col + j * COL_STEP];
#pragma unroll
            for (int i = 0; i < TM; ++i)
#pragma unroll
                for (int j = 0; j < TN; ++j) sum[i][j] += a_part[i] * b_part[j];
        }
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < TM; ++i) {
        const int c_row = row0 + row + i * ROW_STEP, c_col = col0 + col;
#pragma unroll
        for (int j = 0; j < TN; ++j)
            store_1<FULL>(c + size_t(c_row) * n + c_col + j * COL_STEP, c_row < m ? n - c_col - j * COL_STEP : 0, sum[i][j]);
    }
}

void launch(const harness::Gemm<float>& g) {
    const dim3 grid = harness::grid_of_tiles(g.m, g.n, BM, BN);
    const bool full = g.m % BM == 0 && g.n % BN == 0 && g.k % BK == 0;
    const auto kernel = full ? gemm_05_tile_2d<true> : gemm_05_tile_2d<false>;
    kernel<<<grid, THREADS>>>(g.m, g.n, g.k, g.a, g.b, g.c);
}

int main(int argc, char** argv) { return harness::run<float>(argc, argv, {"05_tile_2d", launch}); }
