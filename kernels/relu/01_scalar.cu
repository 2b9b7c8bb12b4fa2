// Rung 1: one thread, one element.
//
// Change from nothing: the plainest kernel there is.
// Expect: the pace of the scalar copy, since a maximum costs one instruction among ten: 8 KB under way on an SM, of the 12 KB
// that would keep the memory busy.
//
//      block b, 256 threads        | t0 | t1 | t2 | ...     a warp's access: 32 x 4 bytes, 4 sectors
//      elements 256 b .. + 255     |  4 |  4 |  4 | bytes
//
// Any n, any alignment.
#include "relu.cuh"

constexpr int THREADS = 256;

__global__ void __launch_bounds__(THREADS) relu_01_scalar(harness::Map<float> map) {
    const size_t i = blockIdx.x * size_t(THREADS) + threadIdx.x;
    if (i < map.n) map.out[i] = relu(map.in[i]);
}

bool launch(const harness::Map<float>& map) {
    relu_01_scalar<<<harness::blocks_for(map.n, THREADS), THREADS>>>(map);
    return true;
}

int main(int argc, char** argv) { return harness::run<Task>(argc, argv, {"01_scalar", launch}); }
