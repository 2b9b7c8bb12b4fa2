// Rung 4: four float4s a thread, a block's width apart.
//
// Change from rung 2: neighbouring threads take neighbouring float4s, and the loop over the row is unrolled by four: four
// loads, then four stores.
// Expect: half of the sectors a request of rung 2, and so a quieter L1; twice the bytes under way a thread. The memory had
// enough to do already: no faster than rung 2 by more than what the L1 held up.
//
//      row of 256 float4s, 64 threads    |  t0 t1 t2 ... t63  |  t0 t1 ...  |  t0 t1 ...  |  t0 t1 ...  |
//                                           load 0               load 1        load 2        load 3
//
// Refuses what rung 2 refuses.
#include "rung.cuh"

constexpr int UNROLL = 4;

__global__ void __launch_bounds__(256) embedding_04_strided_unrolled(harness::Lookup<float> lookup) {
    const size_t token = blockIdx.x;
    const uint32_t vectors = lookup.hidden / 4;
    const auto* from = reinterpret_cast<const float4*>(lookup.row_of(token));
    auto* to = reinterpret_cast<float4*>(lookup.out + token * lookup.hidden);
    for (uint32_t first = threadIdx.x; first < vectors; first += blockDim.x * UNROLL) {
        float4 part[UNROLL] = {};
#pragma unroll
        for (int k = 0; k < UNROLL; ++k)
            if (from && first + k * blockDim.x < vectors) part[k] = from[first + k * blockDim.x];
#pragma unroll
        for (int k = 0; k < UNROLL; ++k)
            if (first + k * blockDim.x < vectors) to[first + k * blockDim.x] = part[k];
    }
}

bool launch(const harness::Lookup<float>& lookup) {
    if (!holds_float4s(lookup)) return false;
    const unsigned threads = threads_for(lookup.hidden, UNROLL, 256);
    embedding_04_strided_unrolled<<<harness::blocks_for(lookup.tokens, 1), threads>>>(lookup);
    return true;
}

int main(int argc, char** argv) { return harness::run<Embedding>(argc, argv, {"04_strided_unrolled", launch}); }
