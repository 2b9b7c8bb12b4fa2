// Rung 2: one thread copies a float2.
//
// Change from rung 1: 64 bits an access, so half the threads, and a tail of at most one float.
// Expect: half the instructions and twice the bytes under way, 16 KB an SM: most of the way to the memory's limit.
//
//      block b, 256 threads        |   t0    |   t1    | ...     a warp's access: 32 x 8 bytes, 8 sectors
//      elements 512 b .. + 511     | 8 bytes | 8 bytes |
//
// Any n. Refuses arrays that are not aligned to 8 bytes: there a 64-bit access is an error.
#include "copy.cuh"

constexpr int THREADS = 256;

__global__ void __launch_bounds__(THREADS) copy_02_float2(harness::Map<float> map) {
    const size_t i = blockIdx.x * size_t(THREADS) + threadIdx.x;
    const size_t vectors = map.n / 2;
    if (i < vectors) reinterpret_cast<float2*>(map.out)[i] = reinterpret_cast<const float2*>(map.in)[i];
    const size_t rest = vectors * 2 + i;  // the tail, by the first thread of the grid
    if (rest < map.n) map.out[rest] = map.in[rest];
}

bool launch(const harness::Map<float>& map) {
    if (!harness::is_aligned(map.in, sizeof(float2)) || !harness::is_aligned(map.out, sizeof(float2))) return false;
    copy_02_float2<<<harness::blocks_for(map.n / 2, THREADS), THREADS>>>(map);
    return true;
}

int main(int argc, char** argv) { return harness::run<Task>(argc, argv, {"02_float2", launch}); }
