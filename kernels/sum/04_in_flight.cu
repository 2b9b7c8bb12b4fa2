// Rung 4: a thread has several loads under way.
//
// Change from rung 3: a block takes tiles of 4 x 512 float4, a thread asks for its four before it adds the first, and the loads
// say that nobody reads the data again.
// Expect: 128 KB an SM under way, so that DRAM is never left waiting, and only reads: it never turns around as it does for the
// copy. DRAM throughput is the one counter near its peak.
//
//      512 threads a block, as many blocks as are resident (B)
//      block b of B:       | b | ...       | b + B | ...       | b + 2B | ...      tiles of 2048 float4, 32 KB
//      within a tile:      | t0 t1 ... t511 | t0 t1 ... | t0 t1 ... | t0 t1 ... |
//
// Traffic: 4 bytes an element, read once; 8 B bytes of partial sums, which stay in the L2. Deterministic.
// Any n, any alignment: scalars up to the first address that suits a float4; the last tile one float4 at a time.
#include "sum.cuh"

constexpr int THREADS = 512, IN_FLIGHT = 4, TILE = THREADS * IN_FLIGHT;

struct Partials {
    unsigned done;  // blocks; atomicInc wraps it around to zero for the next launch
    float sums[SCRATCH_BYTES / sizeof(float) - 1];
};

__device__ float sum_of_tile(const float4* tile, size_t vectors) {
    float sum = 0;
    if (vectors >= TILE) {
        float4 v[IN_FLIGHT];
#pragma unroll
        for (int k = 0; k < IN_FLIGHT; ++k) v[k] = __ldcs(tile + k * THREADS + threadIdx.x);
#pragma unroll
        for (int k = 0; k < IN_FLIGHT; ++k) sum += sum_of(v[k]);
    } else {
        for (size_t i = threadIdx.x; i < vectors; i += THREADS) sum += sum_of(tile[i]);
    }
    return sum;
}

__global__ void __launch_bounds__(THREADS) sum_04_in_flight(Cut cut, Partials* partials, float* out) {
    __shared__ float of_warps[THREADS / 32], of_warps_again[THREADS / 32];
    __shared__ bool is_last;
    float sum = cut.edge(blockIdx.x * size_t(THREADS) + threadIdx.x);
    for (size_t at = blockIdx.x * size_t(TILE); at < cut.vectors; at += size_t(gridDim.x) * TILE)
        sum += sum_of_tile(cut.body + at, cut.vectors - at);
    sum = harness::block_sum<THREADS>(sum, of_warps);
    if (threadIdx.x == 0) {
        partials->sums[blockIdx.x] = sum;
        __threadfence();  // the sum is to be seen before the count
        is_last = atomicInc(&partials->done, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (!is_last) return;
    __threadfence();
    sum = 0;
    for (unsigned block = threadIdx.x; block < gridDim.x; block += THREADS) sum += __ldcg(&partials->sums[block]);
    sum = harness::block_sum<THREADS>(sum, of_warps_again);
    if (threadIdx.x == 0) *out = sum;
}

bool launch(const Array& array) {
    const Cut cut(array);
    const unsigned resident = harness::resident_blocks(sum_04_in_flight, THREADS);
    const unsigned blocks = std::min(resident, harness::blocks_for(cut.vectors, TILE));
    sum_04_in_flight<<<blocks, THREADS>>>(cut, static_cast<Partials*>(array.scratch), array.out);
    return true;
}

int main(int argc, char** argv) { return harness::run<Sum>(argc, argv, {"04_in_flight", launch}); }
