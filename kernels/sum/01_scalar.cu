// Rung 1: a grid that just fills the device walks the array, one float an access.
//
// Change from nothing: each thread adds what it finds at its stride, each block adds its threads' sums by shuffles, and one
// atomic addition a block goes to the result, which the launch has set to zero before.
// Expect: too little under way. The compiler does not unroll the loop, so a thread waits for its 4 bytes before it asks for the
// next: 8 KB an SM, and the memory wants about 25 KB from each SM to be kept busy. Long scoreboard is the stall.
//
//      256 threads a block, as many blocks as are resident (B)
//      block b of B:       | b | ...       | b + B | ...       | b + 2B | ...      pieces of 256 floats
//
// Traffic: 4 bytes an element, read once; B atomic additions. Not deterministic: the blocks come in any order.
// Any n, any alignment.
#include "sum.cuh"

constexpr int THREADS = 256;

__global__ void __launch_bounds__(THREADS) sum_01_scalar(Array array) {
    __shared__ float of_warps[THREADS / 32];
    float sum = 0;
    for (size_t i = blockIdx.x * size_t(THREADS) + threadIdx.x; i < array.n; i += size_t(gridDim.x) * THREADS)
        sum += array.in[i];
    sum = harness::block_sum<THREADS>(sum, of_warps);
    if (threadIdx.x == 0) atomicAdd(array.out, sum);
}

bool launch(const Array& array) {
    const unsigned resident = harness::resident_blocks(sum_01_scalar, THREADS);
    CUDA_CHECK(cudaMemsetAsync(array.out, 0, sizeof(float)));
    sum_01_scalar<<<std::min(resident, harness::blocks_for(array.n, THREADS)), THREADS>>>(array);
    return true;
}

int main(int argc, char** argv) { return harness::run<Sum>(argc, argv, {"01_scalar", launch}); }
