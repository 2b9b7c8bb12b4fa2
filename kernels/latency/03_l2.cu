// Rung 3: a chain of loads past the L1, that the L2 cache answers.
//
// 32768 lines, 4 MB, read once beforehand: more than an L1 holds, and a small part of the L2.
// Expect: 200 to 300 cycles.
#include "chase.cuh"

__global__ void __launch_bounds__(1024) latency_03_l2(Chain chain) {
    const auto load = [&](uint32_t word) { return __ldcg(chain.words + word); };
    warm(chain, load);
    if (threadIdx.x == 0) follow(chain, load);
}

void launch(const Chain& chain) { latency_03_l2<<<1, 1024>>>(chain); }

int main(int argc, char** argv) { return harness::run<Chase>(argc, argv, {"03_l2", 32768, launch}); }
