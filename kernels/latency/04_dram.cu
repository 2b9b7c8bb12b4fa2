// Rung 4: a chain of loads that device memory answers.
//
// 8388608 lines, 1 GB, each read at most once: nothing is in a cache yet.
// Expect: 600 to 900 cycles, misses of the address translation included.
#include "chase.cuh"

__global__ void __launch_bounds__(1024) latency_04_dram(Chain chain) {
    const auto load = [&](uint32_t word) { return __ldcg(chain.words + word); };
    if (threadIdx.x == 0) follow(chain, load);
}

void launch(const Chain& chain) { latency_04_dram<<<1, 32>>>(chain); }

int main(int argc, char** argv) { return harness::run<Chase>(argc, argv, {"04_dram", 8388608, launch}); }
