// Rung 1: a chain of loads from shared memory.
//
// 256 lines of which shared memory holds the first words, 1 KB.
// Expect: 20 to 30 cycles a load, its address computation included.
#include "chase.cuh"

__global__ void __launch_bounds__(256) latency_01_shared(Chain chain) {
    __shared__ uint32_t words[256];
    for (uint32_t i = threadIdx.x; i < chain.lines; i += blockDim.x) words[i] = chain.words[i * LINE] / LINE;
    __syncthreads();
    if (threadIdx.x) return;
    uint32_t at = 0;
#pragma unroll 16
    for (uint32_t i = 0; i < chain.steps; ++i) at = words[at];
    *chain.end = at * LINE;
}

void launch(const Chain& chain) { latency_01_shared<<<1, 256>>>(chain); }

int main(int argc, char** argv) { return harness::run<Chase>(argc, argv, {"01_shared", 256, launch}); }
