// Rung 3: one thread, eight halves.
//
// Change from rung 2: 128 bits an access, which four half2 instructions work on, and a tail of at most seven halves.
// Expect: 32 KB under way on an SM and DRAM as the wall, at the pace of the float4 kernel.
//
//      block b, 256 threads        |    t0    |    t1    | ...     a warp's access: 32 x 16 bytes, 16 sectors
//      elements 2048 b .. + 2047   | 16 bytes | 16 bytes |
//
// Any n. Refuses arrays that are not aligned to 16 bytes.
#include "relu_fp16.cuh"

constexpr int THREADS = 256;

__global__ void __launch_bounds__(THREADS) relu_fp16_03_eight_halves(harness::Map<__half> map) {
    const size_t i = blockIdx.x * size_t(THREADS) + threadIdx.x;
    const size_t vectors = map.n / 8;
    if (i < vectors) reinterpret_cast<uint4*>(map.out)[i] = relu(reinterpret_cast<const uint4*>(map.in)[i]);
    const size_t rest = vectors * 8 + i;  // the tail, by the first threads of the grid
    if (rest < map.n) map.out[rest] = relu(map.in[rest]);
}

bool launch(const harness::Map<__half>& map) {
    if (!harness::is_aligned(map.in, sizeof(uint4)) || !harness::is_aligned(map.out, sizeof(uint4))) return false;
    relu_fp16_03_eight_halves<<<harness::blocks_for(map.n / 8, THREADS), THREADS>>>(map);
    return true;
}

int main(int argc, char** argv) { return harness::run<Task>(argc, argv, {"03_eight_halves", launch}); }
