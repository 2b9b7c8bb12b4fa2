// The task of this ladder: one thread follows a chain of loads, each of whose addresses is the word that the one before read.
// The words form one cycle through all lines in an order that no prefetcher follows: line i names line (A * i + C) mod lines,
// which visits every line before it returns, as A - 1 is a multiple of four, C is odd, and `lines` is a power of two.
#pragma once

#include "../harness/device.cuh"
#include "../harness/program.cuh"

constexpr uint32_t LINE = 32;  // words: 128 bytes
constexpr uint32_t A = 1664525u, C = 1013904223u;

__host__ __device__ inline uint32_t next_line(uint32_t line, uint32_t lines) { return (A * line + C) & (lines - 1); }

__global__ static void write_cycle(uint32_t* words, uint32_t lines) {
    for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < lines; i += gridDim.x * blockDim.x)
        words[size_t(i) * LINE] = next_line(i, lines) * LINE;
}

struct Chain {
    const uint32_t* words;
    uint32_t lines, steps;
    uint32_t* end;
};

struct Chaser {
    const char* name;
    uint32_t lines;  // a power of two
    void (*launch)(const Chain&);
};

class Chase {
  public:
    using Rung = Chaser;

    static std::vector<harness::Parameter> parameters() { return {{"steps", 65536, 1, 1 << 23}}; }

    Chase(const harness::Options& options, const Rung& rung)
        : rung_(rung), steps_(uint32_t(options["steps"])), words_(size_t(rung.lines) * LINE), end_(1) {
        write_cycle<<<1024, 256>>>(words_.data(), rung.lines);
        CUDA_CHECK(cudaGetLastError());
    }

    const char* precision() const { return "loads"; }
    bool prepare_reference() { return false; }
    const char* reference() const { return "none"; }
    void launch_reference() {}
    harness::Work work() const { return {4.0 * steps_, "gbytes_per_s"}; }

    bool launch() {
        rung_.launch({words_.data(), rung_.lines, steps_, end_.data()});
        return true;
    }

    harness::Check check() {
        poison();
        launch();
        return check_last();
    }
    void poison() { end_.fill_bytes(0xFF); }
    harness::Check check_last() {
        uint32_t expected = 0, found = 0;
        for (uint32_t i = 0; i < steps_; ++i) expected = next_line(expected, rung_.lines);
        CUDA_CHECK(cudaMemcpy(&found, end_.data(), sizeof found, cudaMemcpyDeviceToHost));
        harness::Check check{found == expected * LINE ? 0.0 : 1.0, 0};
        if (found != expected * LINE) check.wrong = "the chain does not end where it must";
        return check;
    }
    const harness::DeviceBuffer<uint32_t>& output() const { return end_; }

  private:
    Rung rung_;
    uint32_t steps_;
    harness::DeviceBuffer<uint32_t> words_, end_;
};

// By one thread; `load` gets the number of a word.
template <class Load>
__device__ __forceinline__ void follow(const Chain& chain, Load load) {
    uint32_t at = 0;
#pragma unroll 16
    for (uint32_t i = 0; i < chain.steps; ++i) at = load(at);
    *chain.end = at;
}

// Reads every line once, by the whole block, so that the chase finds them in a cache.
template <class Load>
__device__ __forceinline__ void warm(const Chain& chain, Load load) {
    uint32_t seen = 0;
    for (uint32_t i = threadIdx.x; i < chain.lines; i += blockDim.x) seen |= load(i * LINE);
    if (seen == 1) *chain.end = seen;  // never: a word is a multiple of LINE
    __syncthreads();
}
