// Rung 1: one thread, one half.
//
// Change from nothing: the plainest kernel there is.
// Expect: half of what the scalar FP32 kernel reaches. The 2048 threads of an SM ask for 2 bytes each, 4 KB a round trip to
// memory of the 12 KB that would keep it busy.
//
//      block b, 256 threads        | t0 | t1 | t2 | ...     a warp's access: 32 x 2 bytes, 2 sectors
//      elements 256 b .. + 255     |  2 |  2 |  2 | bytes
//
// Any n, any alignment.
#include "relu_fp16.cuh"

constexpr int THREADS = 256;

__global__ void __launch_bounds__(THREADS) relu_fp16_01_half(harness::Map<__half> map) {
    const size_t i = blockIdx.x * size_t(THREADS) + threadIdx.x;
    if (i < map.n) map.out[i] = relu(map.in[i]);
}

bool launch(const harness::Map<__half>& map) {
    relu_fp16_01_half<<<harness::blocks_for(map.n, THREADS), THREADS>>>(map);
    return true;
}

int main(int argc, char** argv) { return harness::run<Task>(argc, argv, {"01_half", launch}); }
