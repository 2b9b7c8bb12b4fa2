// Variant 2: variant 1 with accesses of 128 bits, what rung 6 of ../gemm is in the article's own layout.
//
// Change from variant 1: global tiles are loaded, and C stored, as float4; As is transposed while it is staged.
// Expect: 2 LDS.128 of A instead of 8 LDS; bank conflicts where lanes stage the transposed A, and where they load eight
// neighbouring columns of B.
//
// Traffic as in variant 1. Refuses shapes that are no whole tiles.
#include "../gemm/harness.cuh"

constexpr int BM = 128, BN = 128, BK = 8, TM = 8, TN = 8, THREADS = (BM / TM) * (BN / TN);

__global__ void __launch_bounds__(THREADS)
gemm_variants_02_plain_vectorized(int n, int k, const float* a, const float* b, float* c) {
    __shared__ alignas(16) float as[BK * BM], bs[BK * BN];
    const int row0 = blockIdx.y * BM, col0 = blockIdx.x * BN;
    const int row = threadIdx.x / (BN / TN) * TM, col = threadIdx.x % (BN / TN) * TN;
    const int a_row = threadIdx.x / (BK / 4), a_col = threadIdx.x % (BK / 4) * 4;
    const int b_row = threadIdx.x / (BN / 4), b_col = threadIdx.x % (BN / 4) * 4;
    float sum[TM][TN] = {};
    for (int k0 = 0; k0 < k; k0 += BK) {
        const float4 part = *reinterpret_cast<const float4*>(a + size_t(row0 + a_row) * k + k0 + a_col);
        as[(a_col + 0) * BM + a_row] = part.x;
        as[(a_col + 1) * BM + a_row] = part.y;
        as[(a_col + 2) * BM + a_row] = part.z;
        as[(a_col + 3) * BM + a_row] = part.w;
        *reinterpret_cast<float4*>(&bs[b_row * BN + b_col]) =
            *reinterpret_cast<const float4*>(b + size_t(k0 + b_row) * n + col0 + b_col);
        __syncthreads();
        for (int kk = 0; kk < BK; ++kk) {
            float a_part[TM], b_part[TN];
            for (int i = 0; i < TM; ++i) a_part[i] = as[kk * BM + row + i];
            for (int j = 0; j < TN; ++j) b_part[j] = bs[kk * BN + col + j];
            for (int i = 0; i < TM; ++i)
                for (int j = 0; j < TN; ++j) sum[i][j] += a_part[i] * b_part[j];
        }
        __syncthreads();
    }
    for (int i = 0; i < TM; ++i)
        for (int j = 0; j < TN; j += 4)
            *reinterpret_cast<float4*>(c + size_t(row0 + row + i) * n + col0 + col + j) =
                make_float4(sum[i][j], sum[i][j + 1], sum[i][j + 2], sum[i][j + 3]);
}

void launch(const harness::Gemm<float>& g) {
    if (g.m % BM || g.n % BN || g.k % BK)
        harness::fail(harness::UNSUPPORTED, "m = %d, n = %d and k = %d are no whole tiles of %d x %d x %d", g.m, g.n, g.k, BM, BN, BK);
    gemm_variants_02_plain_vectorized<<<harness::grid_of_tiles(g.m, g.n, BM, BN), THREADS>>>(g.n, g.k, g.a, g.b, g.c);
}

int main(int argc, char** argv) {
    return harness::run<harness::Multiplication<float>>(argc, argv, {"02_plain_vectorized", launch});
}
