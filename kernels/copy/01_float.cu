// Rung 1: one thread copies one float.
//
// Change from nothing: the plainest kernel there is.
// Expect: too little under way. An SM's 2048 threads ask for 4 bytes each, 8 KB a round trip to memory, and a copy at full
// speed has 12 KB of reads under way on each SM. Issue slots and the LSU pipe work four times what the bytes need.
//
//      block b, 256 threads        | t0 | t1 | t2 | ...     a warp's access: 32 x 4 bytes, 4 sectors
//      elements 256 b .. + 255     |  4 |  4 |  4 | bytes
//
// Any n, any alignment.
#include "copy.cuh"

constexpr int THREADS = 256;

__global__ void __launch_bounds__(THREADS) copy_01_float(harness::Map<float> map) {
    const size_t i = blockIdx.x * size_t(THREADS) + threadIdx.x;
    if (i < map.n) map.out[i] = map.in[i];
}

bool launch(const harness::Map<float>& map) {
    copy_01_float<<<harness::blocks_for(map.n, THREADS), THREADS>>>(map);
    return true;
}

int main(int argc, char** argv) { return harness::run<Task>(argc, argv, {"01_float", launch}); }
