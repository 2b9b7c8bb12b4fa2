// Rungs 14 and 20: the tiles of which A is transposed on its way into shared memory, and how such a tile is copied and stored.
#pragma once

#include "device.cuh"

constexpr int PAD = 4;          // floats: keeps the rows of As 16-byte aligned, and 4 banks apart
constexpr int LANES_M = 4, LANES_N = 8;
constexpr int A_LANES = 8;      // threads that share a row of A

// A tile of C, by threads of TM x TN elements each, in a block that an SM has room for `BLOCKS` times.
template <int BM_, int BN_, int BK_, int TM_, int TN_, int STAGES_, int BLOCKS_>
struct TransposedTile {
    static constexpr int BM = BM_, BN = BN_, BK = BK_, TM = TM_, TN = TN_, STAGES = STAGES_, BLOCKS = BLOCKS_;
    static constexpr int WM = LANES_M * TM, WN = LANES_N * TN;  // the tile of a warp
    static constexpr int THREADS = 32 * (BM / WM) * (BN / WN);
    static constexpr int ROW_BAND = 4 * LANES_M, COL_BAND = 4 * LANES_N;
    static constexpr int A_ROWS = THREADS / A_LANES;  // rows that one pass of the block's threads copies
    static constexpr int B_LANES = THREADS / BK;      // threads that share a row of B
    static constexpr int A_STRIDE = BM + PAD, A_FLOATS = BK * A_STRIDE;
    static constexpr int STAGE_BYTES = (A_FLOATS + BK * BN) * 4, SHARED_BYTES = STAGES * STAGE_BYTES;
    // The first row and column of a thread's elements.
    static __device__ __forceinline__ int row_of(int thread) { return thread / 32 / (BN / WN) * WM + (thread % 2 + thread % 32 / 16 * 2) * 4; }
    static __device__ __forceinline__ int col_of(int thread) { return thread / 32 % (BN / WN) * WN + thread % 32 / 2 % 8 * 4; }
    static_assert(BK % 4 == 0 && BN % 4 == 0 && TM % 4 == 0 && TN % 4 == 0, "float4 needs multiples of four");
    static_assert(BM % WM == 0 && BN % WN == 0 && THREADS <= 1024, "warp tiles must cover the block tile, 1024 threads at most");
    static_assert(BK % A_LANES == 0 && BM % A_ROWS == 0, "whole passes of the block's threads must cover As");
    static_assert(THREADS % BK == 0 && BN / 4 % B_LANES == 0, "the threads of a row must cover Bs");
    static_assert(STAGES >= 2 && BK >= 2, "one slab is read while another is written");
    static_assert(SHARED_BYTES * BLOCKS <= 160 * 1024, "sm_80 has 160 KB of shared memory for all blocks of an SM");
};

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 1000
constexpr int SPARE_BLOCKS = 1;  // with the registers of all blocks, sm_100 would spill
#else
constexpr int SPARE_BLOCKS = 0;
#endif
// How many blocks of a tile an SM has registers for, at least.
template <class T>
constexpr int least_blocks = T::BLOCKS > SPARE_BLOCKS ? T::BLOCKS - SPARE_BLOCKS : 1;

enum Fit { WHOLE, WIDE, ANY };  // whole tiles; tiles overhang, but rows of B and C are multiples of 16 bytes; neither

template <Fit FIT>
__device__ __forceinline__ void copy_b(uint32_t to, const float* at, int valid) {
    if constexpr (FIT == WIDE)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(at), "r"(valid > 0 ? 16 : 0) : "memory");
    else copy_async_4<FIT == WHOLE>(to, at, valid);
}

template <Fit FIT>
__device__ __forceinline__ void store_c(float* at, int valid, float4 value) {
    if (FIT != WIDE) store_4<FIT == WHOLE>(at, valid, value);
    else if (valid > 0) store_4<true>(at, valid, value);
}

// A thread's copies of the slabs of a tile, or of a part of one that ends before k_end.
template <class T, Fit FIT>
struct Copies {
    uint32_t a_to, b_to;  // where in a stage they go to
    int n, k, k_end;
    const float *a_at, *b_at;  // where they start, and how much of the matrix lies beyond
    int a_rows, a_valid, b_rows, b_valid;

    // Queues the copy of the slab that starts at k0; a slab past the end is an empty group, to keep the count.
    __device__ __forceinline__ void queue(uint32_t stage, int k0) {
        if (k0 < k_end) {
            const float* a_from = a_at;
#pragma unroll
            for (int y = 0; y < T::BM; y += T::A_ROWS, a_from = rows_below<T::A_ROWS>(a_from, k))
#pragma unroll
                for (int x = 0; x < T::BK; x += A_LANES)
                    copy_async_1<FIT == WHOLE>(a_to + stage + 4 * (x * T::A_STRIDE + y), a_from + x, y < a_rows ? a_valid - k0 - x : 0);
#pragma unroll
            for (int x = 0; x < T::BN; x += 4 * T::B_LANES)
                copy_b<FIT>(b_to + stage + 4 * x, b_at + x, k0 < b_rows ? b_valid - x : 0);
            a_at += T::BK;
            b_at = rows_below<T::BK>(b_at, n);
        }
        copy_async_commit();
    }
};
