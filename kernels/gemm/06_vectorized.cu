// Rung 6: every access is 128 bits wide, and As is transposed while it is staged.
//
// Change from rung 5: global tiles are loaded, and C stored, as float4; A goes into shared memory as As[k][row], and a
// thread's rows come in fours as its columns do, so that two LDS.128 of As replace eight LDS.
// Expect: issue-active up, FMA pipe up, LSU pipe down. MIO throttle was published as 0.59 to 0.02; here 0.14 becomes 0.12.
//
//                    +------128------+         block: 128 x 128 elements of C, 256 threads
//                    |      Bs       | 16      thread t: ty = t / 16, tx = t % 16
//                    +--4-------4----+
//      +--128--+     +---------------+         its rows:    4 ty + 0..3 in each of the 2 bands of 64
//   16 |  As   |     |  ##      ##   | 4       its columns: 4 tx + 0..3 in each of the 2 bands of 64
//      +-------+     |               | 128
//      (transposed)  |  ##      ##   | 4       per k-step and thread: 2 LDS.128 of As, 2 of Bs, 64 FMAs
//                    +---------------+         per slab and thread: 4 LDG.E.128, 8 STS (A), 2 STS.128 (B)
//
// Traffic per element: 2K/128 floats from global memory in a quarter of the loads; K/16 shared loads for K FMAs.
// Bank conflicts remain: the four lanes that stage one row of A store to rows of As a multiple of 32 banks apart.
#include "device.cuh"
#include "harness.cuh"

constexpr int BM = 128, BN = 128, BK = 16, TM = 8, TN = 8;
constexpr int THREADS = (BM / TM) * (BN / TN);
constexpr int ROW_BAND = 4 * BM / TM;   // from four rows of a thread to its next four
constexpr int COL_BAND = 4 * BN / TN;   // from four columns of a thread to its next four
constexpr int A_ROWS = THREADS / (BK / 4);  // rows of A that one pass of the block's threads copies
constexpr int B_ROWS = THREADS / (BN / 4);
static_assert(BK % 4 == 0 && BN % 4 == 0 && TM % 4 == 0 && TN % 4 == 0, "float4 needs multiples of four");
static_assert(THREADS % (BK / 4) == 0 && BM % A_ROWS == 0, "whole passes of the block's threads must cover As");
static_assert(THREADS % (BN / 4) == 0 && BK % B_ROWS == 0, "whole passes of the block's threads must cover Bs");

template <bool FULL>
__global__ void __launch_bounds__(THREADS, FULL ? 2 : 1)
gemm_06_vectorized(int m, int n, int k, const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c) {
    __shared__ alignas(16) float as[BK][BM];
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
            walk_in_columns<TM, TN>([&](int i, int j) { sum[i][j] += a_part[i] * b_part[j]; });
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
    const auto kernel = full ? gemm_06_vectorized<true> : gemm_06_vectorized<false>;
    kernel<<<grid, THREADS>>>(g.m, g.n, g.k, g.a, g.b, g.c);
}

int main(int argc, char** argv) { return harness::run<harness::Multiplication<float>>(argc, argv, {"06_vectorized", launch}); }
