// Softmax of rows that are read twice: rung 2, and the rows of rungs 5 and 9 that are too wide for registers.
#pragma once

#include "softmax.cuh"

constexpr int TWO_PASSES_THREADS = 256;

// The largest element is only known at the end, so a sum that was begun with a smaller one is scaled down when a larger comes.
static __global__ void __launch_bounds__(TWO_PASSES_THREADS) softmax_02_online(Rows rows) {
    __shared__ Part of_warps[TWO_PASSES_THREADS / 32];
    const float* in = rows.in + blockIdx.x * size_t(rows.hidden);
    float* out = rows.out + blockIdx.x * size_t(rows.hidden);
    Part part = no_part();
    for (uint32_t i = threadIdx.x; i < rows.hidden; i += TWO_PASSES_THREADS) part = with(part, in[i]);
    const Part row = merged_by_block<TWO_PASSES_THREADS>(part, of_warps);
    const float scale = 1 / row.sum;
    for (uint32_t i = threadIdx.x; i < rows.hidden; i += TWO_PASSES_THREADS) out[i] = exp_below(in[i], row.shift) * scale;
}

inline bool launch_two_passes(const Rows& rows) {
    softmax_02_online<<<harness::blocks_for(rows.rows, 1), TWO_PASSES_THREADS>>>(rows);
    return true;
}
