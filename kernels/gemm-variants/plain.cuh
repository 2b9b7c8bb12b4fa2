// The plain two-dimensional register tile, as the article behind this ladder lays it out: a thread's TM rows and TN columns
// are neighbours, As is row-major, and nothing is padded. A variant's file sets the name of its KERNEL and what differs.
//
//                    +------BN------+
//                    |      Bs      | BK        thread t: its rows    TM * (t / (BN / TN)) + 0 .. TM - 1
//                    +-----TN-------+                     its columns TN * (t % (BN / TN)) + 0 .. TN - 1
//       +-BK-+       +--------------+
//    BM | As |    TM |     ##       | BM
//       +----+       +--------------+
//
// Traffic per element: K/BM + K/BN global loads. Refuses shapes that are no whole tiles: what a variant shows is its inner loop.
#pragma once

#include "../gemm/harness.cuh"

#ifndef BM
#define BM 128
#endif
#ifndef BN
#define BN 128
#endif
#ifndef TM
#define TM 8
#endif
#ifndef TN
#define TN 8
#endif
#define BK 8

constexpr int THREADS = (BM / TM) * (BN / TN);

// How the operands of one k-step reach the FMAs.
#ifndef OPERANDS
#define OPERANDS HOISTED
#endif
#define HOISTED 0      // a row and a column of the tile are copied into registers first
#define IN_PLACE 1     // each FMA names its two elements of shared memory
#define LOADED_EACH 2  // as before, and the compiler may not keep them

__device__ __forceinline__ void multiply(const float* as, const float* bs, int row, int col, int kk, float (&sum)[TM][TN]) {
#if OPERANDS == HOISTED
    float a_part[TM], b_part[TN];
    for (int i = 0; i < TM; ++i) a_part[i] = as[(row + i) * BK + kk];
    for (int j = 0; j < TN; ++j) b_part[j] = bs[kk * BN + col + j];
    for (int i = 0; i < TM; ++i)
        for (int j = 0; j < TN; ++j) sum[i][j] += a_part[i] * b_part[j];
#elif OPERANDS == IN_PLACE
    for (int i = 0; i < TM; ++i)
        for (int j = 0; j < TN; ++j) sum[i][j] += as[(row + i) * BK + kk] * bs[kk * BN + col + j];
#else
    const volatile float *a_now = as, *b_now = bs;
    for (int i = 0; i < TM; ++i)
        for (int j = 0; j < TN; ++j) sum[i][j] += a_now[(row + i) * BK + kk] * b_now[kk * BN + col + j];
#endif
}

__global__ void __launch_bounds__(THREADS) KERNEL(int n, int k, const float* a, const float* b, float* c) {
    __shared__ float as[BM * BK], bs[BK * BN];
    const int row0 = blockIdx.y * BM, col0 = blockIdx.x * BN;
    const int row = threadIdx.x / (BN / TN) * TM, col = threadIdx.x % (BN / TN) * TN;
    float sum[TM][TN] = {};
    for (int k0 = 0; k0 < k; k0 += BK) {
        for (int i = threadIdx.x; i < BM * BK; i += THREADS) as[i] = a[size_t(row0 + i / BK) * k + k0 + i % BK];
        for (int i = threadIdx.x; i < BK * BN; i += THREADS) bs[i] = b[size_t(k0 + i / BN) * n + col0 + i % BN];
        __syncthreads();
        for (int kk = 0; kk < BK; ++kk) multiply(as, bs, row, col, kk, sum);
        __syncthreads();
    }
    for (int i = 0; i < TM; ++i)
        for (int j = 0; j < TN; ++j) c[size_t(row0 + row + i) * n + col0 + col + j] = sum[i][j];
}

void launch(const harness::Gemm<float>& g) {
    if (g.m % BM || g.n % BN || g.k % BK)
        harness::fail(harness::UNSUPPORTED, "m = %d, n = %d and k = %d are no whole tiles of %d x %d x %d", g.m, g.n, g.k, BM, BN, BK);
    KERNEL<<<harness::grid_of_tiles(g.m, g.n, BM, BN), THREADS>>>(g.n, g.k, g.a, g.b, g.c);
}

int main(int argc, char** argv) { return harness::run<harness::Multiplication<float>>(argc, argv, {NAME, launch}); }
