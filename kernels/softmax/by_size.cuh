// A row in the registers of a warp or of a block, whichever its width fills: rungs 5 and 9.
#pragma once

#include "../harness/policy.cuh"
#include "two_passes.cuh"

template <class Vector>
__device__ __forceinline__ Vector lowest();
template <>
__device__ __forceinline__ float lowest<float>() { return LOWEST; }
template <>
__device__ __forceinline__ float4 lowest<float4>() { return make_float4(LOWEST, LOWEST, LOWEST, LOWEST); }

constexpr int ROWS_OF_BLOCK = 8;
constexpr int threads_of_block(int threads_of_row) { return threads_of_row == 32 ? 32 * ROWS_OF_BLOCK : threads_of_row; }

// A row by THREADS threads: a block of them, or one of eight warps of a block.
template <class Vector, int THREADS, int COUNT, bool KEPT>
__device__ __forceinline__ void normalise_rows(const Rows& rows) {
    __shared__ Part of_warps[THREADS / 32];
    const uint32_t vectors = rows.hidden / (sizeof(Vector) / sizeof(float)), thread = threadIdx.x % THREADS;
    const size_t row = THREADS == 32 ? blockIdx.x * size_t(ROWS_OF_BLOCK) + threadIdx.x / 32 : blockIdx.x;
    if (row >= rows.rows) return;  // whole warps
    const Vector* in = reinterpret_cast<const Vector*>(rows.in) + row * vectors;
    Vector* out = reinterpret_cast<Vector*>(rows.out) + row * vectors;
    const int count = int((vectors + THREADS - 1 - thread) / THREADS);
    Vector v[COUNT];
#pragma unroll
    for (int k = 0; k < COUNT; ++k) v[k] = k >= count ? lowest<Vector>() : KEPT ? harness::load_to_keep(in + thread + k * THREADS) : in[thread + k * THREADS];
    const Part part = part_of(v, count);
    const Part whole = THREADS == 32 ? merged_by_warp(part) : merged_by_block<THREADS>(part, of_warps);
    const float scale = exp2f(part.shift - whole.shift) / whole.sum;
#pragma unroll
    for (int k = 0; k < COUNT; ++k)
        if (k < count) out[thread + k * THREADS] = scaled(v[k], scale);
}

// `Rung::of<Vector, THREADS, COUNT>()` is its kernel for rows of at most so many vectors.
template <class Rung, class Vector, int THREADS, int COUNT>
bool launch_at_most(const Rows& rows) {
    if (rows.hidden * sizeof(float) > THREADS * COUNT * sizeof(Vector)) return false;
    constexpr int threads = threads_of_block(THREADS);
    Rung::template of<Vector, THREADS, COUNT>()<<<harness::blocks_for(rows.rows, threads / THREADS), threads>>>(rows);
    return true;
}

template <class Rung>
bool launch_by_size(const Rows& rows) {
    if (suits_float4(rows))
        return launch_at_most<Rung, float4, 32, 1>(rows) || launch_at_most<Rung, float4, 32, 2>(rows) || launch_at_most<Rung, float4, 32, 4>(rows) ||
               launch_at_most<Rung, float4, 32, 8>(rows) || launch_at_most<Rung, float4, 256, 2>(rows) || launch_at_most<Rung, float4, 512, 2>(rows) ||
               launch_at_most<Rung, float4, 512, 4>(rows) || launch_at_most<Rung, float4, 1024, 4>(rows) ||
               launch_at_most<Rung, float4, 1024, 8>(rows) || launch_two_passes(rows);
    return launch_at_most<Rung, float, 32, 8>(rows) || launch_at_most<Rung, float, 32, 32>(rows) || launch_at_most<Rung, float, 256, 8>(rows) ||
           launch_at_most<Rung, float, 512, 8>(rows) || launch_at_most<Rung, float, 512, 16>(rows) || launch_at_most<Rung, float, 1024, 16>(rows) ||
           launch_two_passes(rows);
}
