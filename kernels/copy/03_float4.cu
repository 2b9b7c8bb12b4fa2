// Rung 3: one thread copies a float4.
//
// Change from rung 2: 128 bits an access, the widest there is, and a tail of at most three floats.
// Expect: 32 KB under way on each SM, more than the memory needs, so DRAM is the wall and issue slots are mostly idle.
//
//      block b, 256 threads        |    t0    |    t1    | ...     a warp's access: 32 x 16 bytes, 16 sectors
//      elements 1024 b .. + 1023   | 16 bytes | 16 bytes |
//
// Any n. Refuses arrays that are not aligned to 16 bytes.
#include "copy.cuh"

constexpr int THREADS = 256;

__global__ void __launch_bounds__(THREADS) copy_03_float4(harness::Map<float> map) {
    const size_t i = blockIdx.x * size_t(THREADS) + threadIdx.x;
    const size_t vectors = map.n / 4;
    if (i < vectors) reinterpret_cast<float4*>(map.out)[i] = reinterpret_cast<const float4*>(map.in)[i];
    const size_t rest = vectors * 4 + i;  // the tail, by the first threads of the grid
    if (rest < map.n) map.out[rest] = map.in[rest];
}

bool launch(const harness::Map<float>& map) {
    if (!harness::is_aligned(map.in, sizeof(float4)) || !harness::is_aligned(map.out, sizeof(float4))) return false;
    copy_03_float4<<<harness::blocks_for(map.n / 4, THREADS), THREADS>>>(map);
    return true;
}

int main(int argc, char** argv) { return harness::run<Task>(argc, argv, {"03_float4", launch}); }
