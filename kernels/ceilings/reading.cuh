// The task of the rungs that read memory: the sum of all words read, which a slower way of reading must agree with.
// A chunk is what one block reads at once; each warp leaves the sum of the words that it read.
#pragma once

#include "ceilings.cuh"

constexpr int THREADS = 256, WARPS = THREADS / 32, BLOCKS_PER_SM = 6;
constexpr int LOADS = 8;  // of a thread, 128 bits each, all under way at once
constexpr size_t CHUNK_BYTES = size_t(THREADS) * LOADS * sizeof(uint4);
static_assert((size_t(1) << 20) % CHUNK_BYTES == 0, "a MiB is a whole number of chunks");

struct Source {
    const uint4* words;
    uint32_t chunks, passes;
    uint32_t* sums;  // one a warp
};

struct Reader {
    const char* name;
    const char* size;           // the parameter that says how much memory is read
    const char* passes;         // how often; null for once
    unsigned (*blocks)(uint32_t chunks);
    void (*launch)(const Source&);
};

class Reading : public Ceiling {
  public:
    using Rung = Reader;

    Reading(const harness::Options& options, const Rung& rung)
        : rung_(rung), passes_(rung.passes ? uint32_t(options[rung.passes]) : 1),
          memory_((size_t(options[rung.size]) << 20) / sizeof(uint32_t)), sums_(size_t(WARPS) * rung.blocks(chunks())) {
        fill_words<<<1024, 256>>>(memory_.data(), memory_.count(), options.seed);
        CUDA_CHECK(cudaGetLastError());
    }

    const char* precision() const { return "bytes"; }
    bool launch() {
        rung_.launch(source());
        return true;
    }
    harness::Work work() const { return {double(memory_.bytes()) * passes_, "gbytes_per_s"}; }

    harness::Check check() {
        sums_.fill_bytes(0xFF);
        launch();
        const uint32_t found = total_of(sums_), expected = total_of(memory_) * passes_;
        harness::Check check{found == expected ? 0.0 : 1.0, 0};
        if (found != expected) check.wrong = "the words read do not add up";
        return check;
    }

  private:
    Source source() const {
        return {reinterpret_cast<const uint4*>(memory_.data()), chunks(), passes_, sums_.data()};
    }
    uint32_t chunks() const { return uint32_t(memory_.bytes() / CHUNK_BYTES); }

    Rung rung_;
    uint32_t passes_;
    harness::DeviceBuffer<uint32_t> memory_, sums_;
};

template <class Load>
__device__ uint32_t sum_of_chunk(const uint4* chunk, Load load) {
    uint4 words[LOADS];
#pragma unroll
    for (int i = 0; i < LOADS; ++i) words[i] = load(chunk + i * THREADS + threadIdx.x);
    uint32_t sum = 0;
#pragma unroll
    for (int i = 0; i < LOADS; ++i) sum += sum_of(words[i]);
    return sum;
}

__device__ inline void leave_sum(uint32_t* sums, uint32_t sum) {
    sum = harness::warp_sum(sum);
    if (threadIdx.x % 32 == 0) sums[blockIdx.x * size_t(WARPS) + threadIdx.x / 32] = sum;
}
