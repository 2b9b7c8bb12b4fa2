// The task of the rungs that read memory: the sum of all words read, which a slower way of reading must agree with.
// A chunk is what a block reads at once; each warp leaves the sum of the words that it read.
//
//   chunks   | 0 | 1 | 2 | ... | last |    block b reads chunk b, b + blocks, b + 2 blocks, ... around the end,
//   blocks     0   1   2   ...             until all blocks together have read each chunk once a pass
//   chunk    | 512 x 16 B | 512 x 16 B | 512 x 16 B | 512 x 16 B |   thread t reads the t-th 16 bytes of each
#pragma once

#include "ceilings.cuh"

constexpr int THREADS = 512, WARPS = THREADS / 32, BLOCKS_PER_SM = 4;
constexpr int LOADS = 4;  // of a thread, 128 bits each, all under way at once: 128 KB an SM
constexpr size_t CHUNK_BYTES = size_t(THREADS) * LOADS * sizeof(uint4);
static_assert((size_t(1) << 20) % CHUNK_BYTES == 0, "a MiB is a whole number of chunks");

struct Source {
    const uint4* words;
    uint32_t chunks, passes;
    uint32_t* sums;  // one a warp
};

struct Reader {
    const char* name;
    const char* size;    // the parameter that says how much memory is read
    const char* passes;  // how often; null for once
    void (*launch)(const Source&, unsigned grid);
};

class Reading : public Ceiling {
  public:
    using Rung = Reader;

    Reading(const harness::Options& options, const Rung& rung)
        : rung_(rung), grid_(BLOCKS_PER_SM * unsigned(harness::find_device().multiProcessorCount)),
          passes_(rung.passes ? uint32_t(options[rung.passes]) : 1), memory_((size_t(options[rung.size]) << 20) / sizeof(uint32_t)),
          sums_(size_t(WARPS) * grid_) {
        fill_words<<<1024, 256>>>(memory_.data(), memory_.count(), options.seed);
        CUDA_CHECK(cudaGetLastError());
    }

    const char* precision() const { return "bytes"; }
    bool launch() {
        const auto* words = reinterpret_cast<const uint4*>(memory_.data());
        rung_.launch({words, uint32_t(memory_.bytes() / CHUNK_BYTES), passes_, sums_.data()}, grid_);
        return true;
    }
    harness::Work work() const { return {double(memory_.bytes()) * passes_, "gbytes_per_s"}; }

    harness::Check check() {
        poison();
        launch();
        return check_last();
    }
    void poison() { sums_.fill_bytes(0xFF); }
    harness::Check check_last() {
        const uint32_t found = total_of(sums_), expected = total_of(memory_) * passes_;
        harness::Check check{found == expected ? 0.0 : 1.0, 0};
        if (found != expected) check.wrong = "the words read do not add up";
        return check;
    }
    const harness::DeviceBuffer<uint32_t>& output() const { return sums_; }

  private:
    Rung rung_;
    unsigned grid_;
    uint32_t passes_;
    harness::DeviceBuffer<uint32_t> memory_, sums_;
};

template <class Load>
__device__ void read_chunks(const Source& source, Load load) {
    const uint64_t reads = uint64_t(source.chunks) * source.passes;
    const uint32_t stride = gridDim.x % source.chunks;
    uint32_t sum = 0, chunk = blockIdx.x % source.chunks;
    for (uint64_t read = blockIdx.x; read < reads; read += gridDim.x) {
        const uint4* from = source.words + chunk * (CHUNK_BYTES / sizeof(uint4)) + threadIdx.x;
        uint4 words[LOADS];
#pragma unroll
        for (int i = 0; i < LOADS; ++i) words[i] = load(from + i * THREADS);
#pragma unroll
        for (int i = 0; i < LOADS; ++i) sum += sum_of(words[i]);
        chunk += stride;
        if (chunk >= source.chunks) chunk -= source.chunks;
    }
    sum = harness::warp_sum(sum);
    if (threadIdx.x % 32 == 0) source.sums[blockIdx.x * WARPS + threadIdx.x / 32] = sum;
}
