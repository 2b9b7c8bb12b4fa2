// Rung 2: the L2 cache, read again and again.
//
// 16 MiB that all SMs read, each pass in other chunks: far more than the L1s hold, which the loads pass by, and little
// enough for the L2 even where each of its two halves keeps a copy of what its SMs asked for.
// Expect: an L2 hit rate above 99 %, DRAM idle after the first pass, and 5.5 to 7 TB/s on an H200.
#include "reading.cuh"

__global__ void __launch_bounds__(THREADS, BLOCKS_PER_SM) ceilings_02_l2(Source source) {
    read_chunks(source, [](const uint4* at) { return __ldcg(at); });
}

void launch(const Source& source, unsigned grid) { ceilings_02_l2<<<grid, THREADS>>>(source); }

int main(int argc, char** argv) { return harness::run<Reading>(argc, argv, {"02_l2", "l2_mib", "l2_passes", launch}); }
