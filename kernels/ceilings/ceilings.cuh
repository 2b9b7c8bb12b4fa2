// What the rungs of this ladder share: one workload for all, none of which has a reference, and random words.
#pragma once

#include <cuda_bf16.h>

#include <cmath>
#include <vector>

#include "../harness/device.cuh"
#include "../harness/program.cuh"
#include "../harness/reduce.cuh"

struct Ceiling {
    // Bytes read once and bytes read again and again, and for what never leaves the chip: blocks, and the steps of each.
    static std::vector<harness::Parameter> parameters() {
        return {{"dram_mib", 8192, 1, 1 << 17},
                {"l2_mib", 16, 1, 1 << 17},
                {"l2_passes", 512, 1, 1 << 20},
                {"blocks", 4224, 1, 1 << 20},
                {"steps", 4096, 64, 1 << 20}};
    }
    bool prepare_reference() { return false; }
    const char* reference() const { return "none"; }
    void launch_reference() {}
};

template <class Word>
__global__ void fill_words(Word* out, size_t count, uint64_t seed) {
    for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < count; i += size_t(gridDim.x) * blockDim.x)
        out[i] = Word(harness::random_bits(seed, i) >> 32);
}

__device__ inline uint32_t sum_of(uint4 words) { return words.x + words.y + words.z + words.w; }

// Sums up to 2^32, where they start again: in any order and from any number of threads the same.
__global__ static void add_words(const uint32_t* words, size_t count, uint32_t* total) {
    uint32_t sum = 0;
    for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < count; i += size_t(gridDim.x) * blockDim.x) sum += words[i];
    sum = harness::warp_sum(sum);
    if (threadIdx.x % 32 == 0) atomicAdd(total, sum);
}

inline uint32_t total_of(const harness::DeviceBuffer<uint32_t>& words) {
    harness::Tally<uint32_t> total;
    add_words<<<1024, 256>>>(words.data(), words.count(), total.data());
    return total.read();
}
