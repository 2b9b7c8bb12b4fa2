// Rung 2: a thread makes two 128-bit copies back to back.
//
// Change from rung 1: a thread moves eight adjacent floats as two float4s, and asks for both before it stores the first.
// Expect: a quarter of the memory instructions, eight times the bytes under way; the long scoreboard drains.
//
//      row of 1024 floats, 128 threads   |  t0: a b  |  t1: a b  |  t2: a b  | ...      a and b: 16 bytes each
//
// Traffic as in rung 1. Of each 32-byte sector a warp's access takes one half and its next one the other: 32 sectors a
// request where 16 would do. The second half of what was read comes from the L1.
// Refuses rows that are no whole float4s or not aligned to 16 bytes.
#include "rung.cuh"

__global__ void __launch_bounds__(256) embedding_02_two_float4(harness::Lookup<float> lookup) {
    const size_t token = blockIdx.x;
    const float* from = lookup.row_of(token);
    float* to = lookup.out + token * lookup.hidden;
    for (uint32_t i = threadIdx.x * 8; i < lookup.hidden; i += blockDim.x * 8) {
        const bool second = i + 4 < lookup.hidden;
        float4 a = {}, b = {};
        if (from) a = *reinterpret_cast<const float4*>(from + i);
        if (from && second) b = *reinterpret_cast<const float4*>(from + i + 4);
        *reinterpret_cast<float4*>(to + i) = a;
        if (second) *reinterpret_cast<float4*>(to + i + 4) = b;
    }
}

bool launch(const harness::Lookup<float>& lookup) {
    if (!holds_float4s(lookup)) return false;
    embedding_02_two_float4<<<harness::blocks_for(lookup.tokens, 1), threads_for(lookup.hidden, 2, 256)>>>(lookup);
    return true;
}

int main(int argc, char** argv) { return harness::run<Embedding>(argc, argv, {"02_two_float4", launch}); }
