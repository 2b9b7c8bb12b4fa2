// Rung 5: the same by the library: cub::DeviceReduce::Sum.
//
// Change from rung 4: none of our own. CUB reads 128 bits at a time, adds even shares in a first kernel and their sums in a
// second.
// Expect: what rung 3 gets.
//
// Deterministic from run to run on the same device. Any n, any alignment: CUB reads scalars where a float4 does not suit.
#include "sum.cuh"

#include <cub/device/device_reduce.cuh>

bool launch(const Array& array) {
    size_t bytes = 0;
    CUDA_CHECK(cub::DeviceReduce::Sum(nullptr, bytes, array.in, array.out, array.n));
    if (bytes > SCRATCH_BYTES) return false;
    CUDA_CHECK(cub::DeviceReduce::Sum(array.scratch, bytes, array.in, array.out, array.n));
    return true;
}

int main(int argc, char** argv) { return harness::run<Sum>(argc, argv, {"05_cub", launch}); }
