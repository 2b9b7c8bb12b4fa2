// Rung 6: the row comes to shared memory by cp.async.
//
// Change from rung 5: LDGSTS writes to shared memory what it reads, without a register in between and past the L1.
// Expect: the LDG and STS of rung 5 become one LDGSTS, and the L1 hit rate falls to nearly nothing: only ids hit. The loads
// were under way together before; no faster.
//
//      table row  --LDGSTS.BYPASS.128-->  | stage: 256 float4s, 4 KB |  --LDS.128-->  registers  --STG.128-->  out row
//
// Refuses what rung 2 refuses. An id that names no row: LDGSTS of zero bytes, which fills with zeros and reads nothing.
#include "rung.cuh"

constexpr int THREADS = 128, PASSES = 2, STAGE = THREADS * PASSES;  // of float4s

__device__ __forceinline__ void copy_async(float4* to, const float4* from, int bytes) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(uint32_t(__cvta_generic_to_shared(to))), "l"(from),
                 "r"(bytes) : "memory");
}

__global__ void __launch_bounds__(THREADS) embedding_06_cp_async(harness::Lookup<float> lookup) {
    __shared__ float4 stage[STAGE];
    const size_t token = blockIdx.x;
    const uint32_t vectors = lookup.hidden / 4;
    const float* row = lookup.row_of(token);
    const auto* from = reinterpret_cast<const float4*>(row ? row : lookup.table);
    auto* to = reinterpret_cast<float4*>(lookup.out + token * lookup.hidden);
    for (uint32_t piece = 0; piece < vectors; piece += STAGE) {
#pragma unroll
        for (uint32_t i = threadIdx.x, k = 0; k < PASSES; ++k, i += THREADS)
            if (piece + i < vectors) copy_async(&stage[i], from + piece + i, row ? 16 : 0);
        asm volatile("cp.async.wait_all;" ::: "memory");
        __syncthreads();
#pragma unroll
        for (uint32_t i = threadIdx.x, k = 0; k < PASSES; ++k, i += THREADS)
            if (piece + i < vectors) to[piece + i] = stage[i];
        __syncthreads();  // the stage is free for the next piece
    }
}

bool launch(const harness::Lookup<float>& lookup) {
    if (!holds_float4s(lookup)) return false;
    embedding_06_cp_async<<<harness::blocks_for(lookup.tokens, 1), THREADS>>>(lookup);
    return true;
}

int main(int argc, char** argv) { return harness::run<Embedding>(argc, argv, {"06_cp_async", launch}); }
