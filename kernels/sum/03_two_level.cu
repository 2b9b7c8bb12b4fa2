// Rung 3: the blocks' sums go to an array, and the block that comes last adds them.
//
// Change from rung 2: no atomic addition to the result, and nothing to set to zero before: one launch instead of two, with an
// atomic count of the blocks that are done.
// Expect: the same counters and the same time to within what a second launch costs, about 2 us; but the same sum to the bit in
// every run on the same device, since no order is left to chance.
//
//      level 1: block b of B walks the array as in rung 2   ->   partial[b]
//      level 2: the last block: thread t adds partial[t], partial[t + 256], ...; then the block adds its threads' sums
//
// Traffic: 4 bytes an element, read once; 8 B bytes of partial sums, which stay in the L2. Deterministic.
// Any n, any alignment: scalars up to the first address that suits a float4.
#include "sum.cuh"

constexpr int THREADS = 256;

struct Partials {
    unsigned done;  // blocks; atomicInc wraps it around to zero for the next launch
    float sums[SCRATCH_BYTES / sizeof(float) - 1];
};

__global__ void __launch_bounds__(THREADS) sum_03_two_level(Cut cut, Partials* partials, float* out) {
    __shared__ float of_warps[THREADS / 32], of_warps_again[THREADS / 32];
    __shared__ bool is_last;
    const size_t first = blockIdx.x * size_t(THREADS) + threadIdx.x;
    float sum = cut.edge(first);
    for (size_t i = first; i < cut.vectors; i += size_t(gridDim.x) * THREADS) sum += sum_of(cut.body[i]);
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
    const unsigned resident = harness::resident_blocks(sum_03_two_level, THREADS);
    const unsigned blocks = std::min(resident, harness::blocks_for(cut.vectors, THREADS));
    sum_03_two_level<<<blocks, THREADS>>>(cut, static_cast<Partials*>(array.scratch), array.out);
    return true;
}

int main(int argc, char** argv) { return harness::run<Sum>(argc, argv, {"03_two_level", launch}); }
