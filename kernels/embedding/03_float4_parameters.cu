// Rung 3: the kernel's parameters are float4*.
//
// Change from rung 2: table and output are declared as arrays of float4, and indexed as such; nothing is cast.
// Expect: nothing. A pointer's type is gone once the kernel is compiled: the same accesses at the same addresses.
//
//      row of 256 float4s, 128 threads   |  t0: 0 1  |  t1: 2 3  |  t2: 4 5  | ...
//
// Refuses what rung 2 refuses.
#include "rung.cuh"

__global__ void __launch_bounds__(256) embedding_03_float4_parameters(uint32_t vectors, uint32_t vocab, const int32_t* ids,
                                                                      const float4* table, float4* out) {
    const size_t token = blockIdx.x;
    const uint32_t id = uint32_t(ids[token]);
    const float4* from = id < vocab ? table + size_t(id) * vectors : nullptr;
    float4* to = out + token * vectors;
    for (uint32_t i = threadIdx.x * 2; i < vectors; i += blockDim.x * 2) {
        const bool second = i + 1 < vectors;
        float4 a = {}, b = {};
        if (from) a = from[i];
        if (from && second) b = from[i + 1];
        to[i] = a;
        if (second) to[i + 1] = b;
    }
}

bool launch(const harness::Lookup<float>& lookup) {
    if (!holds_float4s(lookup)) return false;
    const auto* table = reinterpret_cast<const float4*>(lookup.table);
    auto* out = reinterpret_cast<float4*>(lookup.out);
    embedding_03_float4_parameters<<<harness::blocks_for(lookup.tokens, 1), threads_for(lookup.hidden, 2, 256)>>>(
        lookup.hidden / 4, lookup.vocab, lookup.ids, table, out);
    return true;
}

int main(int argc, char** argv) { return harness::run<Embedding>(argc, argv, {"03_float4_parameters", launch}); }
