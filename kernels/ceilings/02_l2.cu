// Rung 2: the L2 cache, read again and again.
//
// 16 MiB that all SMs read, each pass in other chunks: far more than the L1s hold, which the loads do without, and little
// enough for the L2 even where each of its two halves keeps a copy of what its SMs asked for.
// Expect: an L2 hit rate above 99 %, DRAM idle after the first pass, and 5.5 to 7 TB/s on an H200.
//
//   chunks   | 0 | 1 | 2 | ... | 511 |     block b reads chunk b, b + blocks, b + 2 blocks, ... around the end,
//   blocks     0   1   2   ...             until all blocks together have read each chunk once a pass
#include "reading.cuh"

__global__ void __launch_bounds__(THREADS, BLOCKS_PER_SM) ceilings_02_l2(Source source) {
    const uint64_t reads = uint64_t(source.chunks) * source.passes;
    uint32_t sum = 0, chunk = blockIdx.x % source.chunks;
    const uint32_t stride = gridDim.x % source.chunks;
    for (uint64_t read = blockIdx.x; read < reads; read += gridDim.x) {
        sum += sum_of_chunk(source.words + size_t(chunk) * (CHUNK_BYTES / sizeof(uint4)), [](const uint4* at) { return __ldcg(at); });
        chunk += stride;
        if (chunk >= source.chunks) chunk -= source.chunks;
    }
    leave_sum(source.sums, sum);
}

unsigned blocks(uint32_t) { return BLOCKS_PER_SM * unsigned(harness::find_device().multiProcessorCount); }
void launch(const Source& source) {
    static const unsigned grid = blocks(source.chunks);
    ceilings_02_l2<<<grid, THREADS>>>(source);
}

int main(int argc, char** argv) {
    return harness::run<Reading>(argc, argv, {"02_l2", "l2_mib", "l2_passes", blocks, launch});
}
