// Rung 1: one thread, one element.
//
// Change from nothing: the plainest kernel there is; erff() is about twenty instructions.
// Expect: no faster than the scalar copy, since no more bytes are under way, but no slower either: the instructions fit
// into the time that the memory takes.
//
//      block b, 256 threads        | t0 | t1 | t2 | ...     a warp's access: 32 x 4 bytes, 4 sectors
//      elements 256 b .. + 255     |  4 |  4 |  4 | bytes
//
// Any n, any alignment.
#include "gelu.cuh"

constexpr int THREADS = 256;

__global__ void __launch_bounds__(THREADS) gelu_01_scalar(harness::Map<float> map) {
    const size_t i = blockIdx.x * size_t(THREADS) + threadIdx.x;
    if (i < map.n) map.out[i] = gelu(map.in[i]);
}

bool launch(const harness::Map<float>& map) {
    gelu_01_scalar<<<harness::blocks_for(map.n, THREADS), THREADS>>>(map);
    return true;
}

int main(int argc, char** argv) { return harness::run<Task>(argc, argv, {"01_scalar", launch}); }
