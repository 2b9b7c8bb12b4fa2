// Rung 11: float4* parameters, and one 128-bit copy a thread.
//
// Change from rung 2: table and output are arrays of float4, and a thread copies one of them, not two: twice the threads.
// Expect: whole sectors for every access of a warp, and half the bytes under way in each thread, which has twice the company.
//
//      row of 256 float4s, 256 threads   |  t0: 0  |  t1: 1  |  t2: 2  | ...
//
// Refuses what rung 2 refuses.
#include "rung.cuh"

__global__ void __launch_bounds__(256) embedding_11_one_float4(uint32_t vectors, uint32_t vocab, const int32_t* ids,
                                                               const float4* table, float4* out) {
    const size_t token = blockIdx.x;
    const uint32_t id = uint32_t(ids[token]);
    const float4* from = id < vocab ? table + size_t(id) * vectors : nullptr;
    float4* to = out + token * vectors;
    for (uint32_t i = threadIdx.x; i < vectors; i += blockDim.x) to[i] = from ? from[i] : float4{};
}

bool launch(const harness::Lookup<float>& lookup) {
    if (!holds_float4s(lookup)) return false;
    const auto* table = reinterpret_cast<const float4*>(lookup.table);
    auto* out = reinterpret_cast<float4*>(lookup.out);
    embedding_11_one_float4<<<harness::blocks_for(lookup.tokens, 1), threads_for(lookup.hidden, 1, 256)>>>(
        lookup.hidden / 4, lookup.vocab, lookup.ids, table, out);
    return true;
}

int main(int argc, char** argv) { return harness::run<Embedding>(argc, argv, {"11_one_float4", launch}); }
