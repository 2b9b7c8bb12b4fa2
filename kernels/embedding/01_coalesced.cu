// Rung 1: a block copies one row, neighbouring threads take neighbouring floats.
//
//      block t, 256 threads        ids[t] = r
//      table row r   | 0 1 2 ... 255 | 0 1 2 ... 255 | ...     a warp's access: 32 x 4 bytes, 4 sectors, one line
//      out row t     | 0 1 2 ... 255 | 0 1 2 ... 255 | ...
//
// Traffic per row: the row read and written once, an id of 4 bytes read by every warp. Two latencies in a row: the id, then
// the elements. A thread stores one float before it asks for the next, so an SM has at most 2048 x 4 bytes under way.
// Any width and alignment.
#include "embedding.cuh"

constexpr int THREADS = 256;

__global__ void __launch_bounds__(THREADS) embedding_01_coalesced(harness::Lookup<float> lookup) {
    const size_t token = blockIdx.x;
    const float* from = lookup.row_of(token);
    float* to = lookup.out + token * lookup.hidden;
#pragma unroll 1
    for (uint32_t i = threadIdx.x; i < lookup.hidden; i += THREADS) to[i] = from ? from[i] : 0.0f;
}

bool launch(const harness::Lookup<float>& lookup) {
    embedding_01_coalesced<<<harness::blocks_for(lookup.tokens, 1), THREADS>>>(lookup);
    return true;
}

int main(int argc, char** argv) { return harness::run<Embedding>(argc, argv, {"01_coalesced", launch}); }
