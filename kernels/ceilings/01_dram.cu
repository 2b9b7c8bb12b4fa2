// Rung 1: device memory, read once at its best rate.
//
// A block reads one chunk of 32 KB: each thread has eight 128-bit loads under way before it adds anything up. Nothing is
// written but 4 bytes a warp, so memory never turns from reading to writing, which costs a copy about a tenth.
// Expect: 92 to 96 % of the memory's peak, DRAM throughput at its ceiling, the issue slots nearly idle.
//
//   chunk of block b:  | 256 x 16 B | 256 x 16 B | ... 8 times      thread t reads the t-th 16 bytes of each
#include "reading.cuh"

__global__ void __launch_bounds__(THREADS, BLOCKS_PER_SM) ceilings_01_dram(Source source) {
    const uint4* chunk = source.words + blockIdx.x * (CHUNK_BYTES / sizeof(uint4));
    leave_sum(source.sums, sum_of_chunk(chunk, [](const uint4* at) {
        uint4 words;
        asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
                     : "=r"(words.x), "=r"(words.y), "=r"(words.z), "=r"(words.w) : "l"(at));
        return words;
    }));
}

unsigned blocks(uint32_t chunks) { return chunks; }
void launch(const Source& source) { ceilings_01_dram<<<source.chunks, THREADS>>>(source); }

int main(int argc, char** argv) {
    return harness::run<Reading>(argc, argv, {"01_dram", "dram_mib", nullptr, blocks, launch});
}
