// Variant 3: four floats under way per thread, each by an access of its own.
//
// Change from variant 1: a thread asks for four floats, a block's width apart, before it stores the first.
// Expect: as many accesses of 32 bits as variant 1 for as many bytes, and four times the bytes under way. If instructions were
// what limits variant 1, nothing would change; if bytes under way are, this is nearly as fast as float4.
//
//      block b, 256 threads, float:   | t0 t1 t2 ... | t0 t1 t2 ... | t0 t1 t2 ... | t0 t1 t2 ... |
//                                       load 0         load 1         load 2         load 3
//
// Any n, any alignment.
#include "../copy/copy.cuh"

constexpr int THREADS = 256, IN_FLIGHT = 4;

__global__ void __launch_bounds__(THREADS) copy_variants_03_float_in_flight(harness::Map<float> map) {
    const size_t first = blockIdx.x * size_t(THREADS * IN_FLIGHT) + threadIdx.x;
    float v[IN_FLIGHT];
#pragma unroll
    for (int k = 0; k < IN_FLIGHT; ++k)
        if (first + k * THREADS < map.n) v[k] = map.in[first + k * THREADS];
#pragma unroll
    for (int k = 0; k < IN_FLIGHT; ++k)
        if (first + k * THREADS < map.n) map.out[first + k * THREADS] = v[k];
}

bool launch(const harness::Map<float>& map) {
    copy_variants_03_float_in_flight<<<harness::blocks_for(map.n, THREADS * IN_FLIGHT), THREADS>>>(map);
    return true;
}

int main(int argc, char** argv) { return harness::run<Task>(argc, argv, {"03_float_in_flight", launch}); }
