// Rung 2: a chain of loads that the L1 cache answers.
//
// 512 lines, 64 KB, read once beforehand.
// Expect: a few cycles more than shared memory, 30 to 45.
#include "chase.cuh"

__global__ void __launch_bounds__(1024) latency_02_l1(Chain chain) {
    const auto load = [&](uint32_t word) { return __ldca(chain.words + word); };
    warm(chain, load);
    if (threadIdx.x == 0) follow(chain, load);
}

void launch(const Chain& chain) { latency_02_l1<<<1, 1024>>>(chain); }

int main(int argc, char** argv) { return harness::run<Chase>(argc, argv, {"02_l1", 512, launch}); }
