// Rung 2: one thread, a half2.
//
// Change from rung 1: 32 bits an access, both halves by one instruction, and a tail of at most one half.
// Expect: exactly the shape of the scalar FP32 kernel, and so its pace: 8 KB under way on an SM.
//
//      block b, 256 threads        | t0 | t1 | t2 | ...     a warp's access: 32 x 4 bytes, 4 sectors
//      elements 512 b .. + 511     |  4 |  4 |  4 | bytes
//
// Any n. Refuses arrays that are not aligned to 4 bytes.
#include "relu_fp16.cuh"

constexpr int THREADS = 256;

__global__ void __launch_bounds__(THREADS) relu_fp16_02_half2(harness::Map<__half> map) {
    const size_t i = blockIdx.x * size_t(THREADS) + threadIdx.x;
    const size_t vectors = map.n / 2;
    if (i < vectors) reinterpret_cast<unsigned*>(map.out)[i] = relu(reinterpret_cast<const unsigned*>(map.in)[i]);
    const size_t rest = vectors * 2 + i;  // the tail, by the first thread of the grid
    if (rest < map.n) map.out[rest] = relu(map.in[rest]);
}

bool launch(const harness::Map<__half>& map) {
    if (!harness::is_aligned(map.in, sizeof(unsigned)) || !harness::is_aligned(map.out, sizeof(unsigned))) return false;
    relu_fp16_02_half2<<<harness::blocks_for(map.n / 2, THREADS), THREADS>>>(map);
    return true;
}

int main(int argc, char** argv) { return harness::run<Task>(argc, argv, {"02_half2", launch}); }
