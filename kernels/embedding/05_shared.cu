// Rung 5: the row is staged in shared memory.
//
// Change from rung 4: a block loads a piece of the row into shared memory, waits, and stores it from there.
// Expect: a detour. The same bytes from and to the memory, an STS and an LDS for each access more, and two barriers a
// piece: nothing that is staged is used twice or by another thread. No faster, if the memory is still the wall.
//
//      table row  --LDG.128-->  registers  --STS.128-->  | stage: 256 float4s, 4 KB |  --LDS.128-->  --STG.128-->  out row
//
// 16 blocks of 128 threads an SM, 64 KB of stages.
// Refuses what rung 2 refuses.
#include "rung.cuh"

constexpr int THREADS = 128, PASSES = 2, STAGE = THREADS * PASSES;  // of float4s

__global__ void __launch_bounds__(THREADS) embedding_05_shared(harness::Lookup<float> lookup) {
    __shared__ float4 stage[STAGE];
    const size_t token = blockIdx.x;
    const uint32_t vectors = lookup.hidden / 4;
    const auto* from = reinterpret_cast<const float4*>(lookup.row_of(token));
    auto* to = reinterpret_cast<float4*>(lookup.out + token * lookup.hidden);
    for (uint32_t piece = 0; piece < vectors; piece += STAGE) {
        float4 part[PASSES] = {};
#pragma unroll
        for (uint32_t i = threadIdx.x, k = 0; k < PASSES; ++k, i += THREADS)
            if (from && piece + i < vectors) part[k] = from[piece + i];
#pragma unroll
        for (uint32_t i = threadIdx.x, k = 0; k < PASSES; ++k, i += THREADS) stage[i] = part[k];
        __syncthreads();
#pragma unroll
        for (uint32_t i = threadIdx.x, k = 0; k < PASSES; ++k, i += THREADS)
            if (piece + i < vectors) to[piece + i] = stage[i];
        __syncthreads();  // the stage is free for the next piece
    }
}

bool launch(const harness::Lookup<float>& lookup) {
    if (!holds_float4s(lookup)) return false;
    embedding_05_shared<<<harness::blocks_for(lookup.tokens, 1), THREADS>>>(lookup);
    return true;
}

int main(int argc, char** argv) { return harness::run<Embedding>(argc, argv, {"05_shared", launch}); }
