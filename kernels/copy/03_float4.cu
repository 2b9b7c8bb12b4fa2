// Rung 3: one thread copies a float4.
//
// Change from rung 2: 128 bits an access, the widest there is, and a tail of at most three floats.
// Expect: 32 KB under way on each SM, more than the memory needs, so DRAM is the wall and issue slots are mostly idle.
//
//      block b, 256 threads        |    t0    |    t1    | ...     a warp's access: 32 x 16 bytes, 16 sectors
//      elements 1024 b .. + 1023   | 16 bytes | 16 bytes |
//
// Any n. Refuses arrays that are not aligned to 16 bytes.
#include "vector.cuh"

__global__ void __launch_bounds__(THREADS) copy_03_float4(harness::Map<float> map) { copy_by<float4>(map); }

bool launch(const harness::Map<float>& map) { return launch_by<float4>(copy_03_float4, map); }

int main(int argc, char** argv) { return harness::run<Task>(argc, argv, {"03_float4", launch}); }
