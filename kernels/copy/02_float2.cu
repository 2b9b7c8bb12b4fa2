// Rung 2: one thread copies a float2.
//
// Change from rung 1: 64 bits an access, so half the threads, and a tail of at most one float.
// Expect: half the instructions and twice the bytes under way, 16 KB an SM: most of the way to the memory's limit.
//
//      block b, 256 threads        |   t0    |   t1    | ...     a warp's access: 32 x 8 bytes, 8 sectors
//      elements 512 b .. + 511     | 8 bytes | 8 bytes |
//
// Any n. Refuses arrays that are not aligned to 8 bytes: there a 64-bit access is an error.
#include "vector.cuh"

__global__ void __launch_bounds__(THREADS) copy_02_float2(harness::Map<float> map) { copy_by<float2>(map); }

bool launch(const harness::Map<float>& map) { return launch_by<float2>(copy_02_float2, map); }

int main(int argc, char** argv) { return harness::run<Task>(argc, argv, {"02_float2", launch}); }
