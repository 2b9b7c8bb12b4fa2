// Rung 1: device memory, read once at its best rate.
//
// As many blocks as are resident walk over the memory together, so that what is read at one time lies close together. Each thread
// has four 128-bit loads under way before it adds anything up, and says that nobody reads the data again. Next to nothing is
// written, so memory never turns from reading to writing.
// Expect: 92 to 96 % of the memory's peak, DRAM throughput at its ceiling, the issue slots nearly idle.
#include "reading.cuh"

__global__ void __launch_bounds__(THREADS, BLOCKS_PER_SM) ceilings_01_dram(Source source) {
    read_chunks(source, [](const uint4* at) { return __ldcs(at); });
}

void launch(const Source& source, unsigned grid) { ceilings_01_dram<<<grid, THREADS>>>(source); }

int main(int argc, char** argv) { return harness::run<Reading>(argc, argv, {"01_dram", "dram_mib", nullptr, launch}); }
