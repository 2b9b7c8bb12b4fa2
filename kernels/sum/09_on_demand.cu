// Rung 9: the last tiles go to whoever is free.
//
// Change from rung 4: the blocks walk over 15 tiles of 16 as before. Each tile of the rest goes to the block that asks for it first, and
// leaves a partial sum of its own, so that the order of adding stays the same whoever added a tile up.
// Expect: as many bytes and instructions, but blocks that end together. SMs are not equally far from memory, and in rung 4 the
// fast ones wait for the slow ones; a counter for all tiles gave 1 point in a probe: 106 % of the copy.
//
//      block b of B:       | b | b + B | b + 2B | ...  | whatever tile is next | ...      a number is asked for under the tile before
//      partial sums:       | block 0 | block 1 | ... | block B - 1 | tile of the rest 0 | 1 | ...
//
// Traffic: 4 bytes an element, read once; 8 (B + rest) bytes of partial sums, which stay in the L2. Deterministic.
// Any n, any alignment: scalars up to the first address that suits a float4; what is no whole tile by block 0.
#include "sum.cuh"

constexpr int THREADS = 512, IN_FLIGHT = 4, TILE = THREADS * IN_FLIGHT;
constexpr unsigned ONE_IN = 16;  // tiles is on demand

struct Partials {
    unsigned done, dealt;  // blocks, and tiles of the rest: zero again at the end
    float sums[SCRATCH_BYTES / sizeof(float) - 2];
};

__device__ float sum_of_tile(const float4* tile) {
    float4 v[IN_FLIGHT];
    float sum = 0;
#pragma unroll
    for (int k = 0; k < IN_FLIGHT; ++k) v[k] = __ldcs(tile + k * THREADS + threadIdx.x);
#pragma unroll
    for (int k = 0; k < IN_FLIGHT; ++k) sum += sum_of(v[k]);
    return sum;
}

__global__ void __launch_bounds__(THREADS, 2048 / THREADS) sum_09_on_demand(Cut cut, unsigned tiles, unsigned walked, Partials* partials, float* out) {
    __shared__ float of_warps[2][THREADS / 32], of_warps_again[THREADS / 32];
    __shared__ unsigned asked[2];
    __shared__ bool is_last;
    float sum = cut.edge(blockIdx.x * size_t(THREADS) + threadIdx.x);
    for (size_t i = tiles * size_t(TILE) + threadIdx.x; blockIdx.x == 0 && i < cut.vectors; i += THREADS) sum += sum_of(cut.body[i]);
    for (unsigned tile = blockIdx.x; tile < walked; tile += gridDim.x) sum += sum_of_tile(cut.body + tile * size_t(TILE));
    sum = harness::block_sum<THREADS>(sum, of_warps[1]);
    if (threadIdx.x == 0) partials->sums[blockIdx.x] = sum;
    unsigned next = blockIdx.x;  // of the rest: the first is in turn, too
    for (int turn = 0; next < tiles - walked; turn ^= 1) {
        unsigned after;
        if (threadIdx.x == 0) after = gridDim.x + atomicAdd(&partials->dealt, 1);
        sum = sum_of_tile(cut.body + (walked + next) * size_t(TILE));
        if (threadIdx.x == 0) asked[turn] = after;
        sum = harness::block_sum<THREADS>(sum, of_warps[turn]);
        if (threadIdx.x == 0) partials->sums[gridDim.x + next] = sum;
        next = asked[turn];
    }
    if (threadIdx.x == 0) {
        __threadfence();  // the sums are to be seen before the count
        is_last = atomicInc(&partials->done, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (!is_last) return;
    __threadfence();
    sum = 0;
#pragma unroll 8
    for (unsigned i = threadIdx.x; i < gridDim.x + tiles - walked; i += THREADS) sum += __ldcg(&partials->sums[i]);
    sum = harness::block_sum<THREADS>(sum, of_warps_again);
    if (threadIdx.x == 0) *out = sum, partials->dealt = 0;
}

bool launch(const Array& array) {
    const Cut cut(array);
    const unsigned tiles = unsigned(cut.vectors / TILE);  // whole ones; block 0 adds what is left over
    const unsigned blocks = std::min(harness::resident_blocks(sum_09_on_demand, THREADS), harness::blocks_for(cut.vectors, TILE));
    const unsigned walked = (tiles - tiles / ONE_IN) / blocks * blocks;
    sum_09_on_demand<<<blocks, THREADS>>>(cut, tiles, walked, static_cast<Partials*>(array.scratch), array.out);
    return true;
}

int main(int argc, char** argv) { return harness::run<Sum>(argc, argv, {"09_on_demand", launch}); }
