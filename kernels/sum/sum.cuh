// The task of this ladder: the sum of n floats. A rung gets the array, room for one result, and scratch memory that is
// zero before its first launch and that it must leave as it found it where it counts on zeros.
#pragma once

#include <cmath>
#include <memory>

#include "../harness/memcpy.cuh"
#include "../harness/program.cuh"
#include "../harness/reduce.cuh"
#include "../harness/streams.cuh"

constexpr size_t SCRATCH_BYTES = 1 << 20;

struct Array {
    size_t n;
    const float* in;
    float* out;
    void* scratch;
};

// An array in 128-bit pieces: up to three floats before the first address that suits them, up to three behind the last.
struct Cut {
    const float* head;
    const float4* body;
    const float* tail;
    size_t vectors;
    unsigned heads, tails;
    __host__ explicit Cut(const Array& array) {
        const size_t misplaced = reinterpret_cast<uintptr_t>(array.in) / sizeof(float) % 4;
        heads = unsigned(std::min<size_t>((4 - misplaced) % 4, array.n));
        vectors = (array.n - heads) / 4;
        tails = unsigned(array.n - heads - 4 * vectors);
        head = array.in;
        body = reinterpret_cast<const float4*>(head + heads);
        tail = head + heads + 4 * vectors;
    }
    // What thread `i` of the whole grid adds besides its vectors.
    __device__ float edge(size_t i) const { return (i < heads ? head[i] : 0.0f) + (i < tails ? tail[i] : 0.0f); }
};

__device__ inline float sum_of(float4 v) { return (v.x + v.y) + (v.z + v.w); }

// Whole numbers from -8 to 8: every partial sum is a whole number that FP32 holds exactly, so that any order of adding must
// give the exact result, and a single element left out or added twice is seen.
__global__ static void fill_whole(float* out, size_t count, uint64_t seed) {
    for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < count; i += size_t(gridDim.x) * blockDim.x)
        out[i] = float(int(harness::random_bits(seed, i) % 17) - 8);
}

struct Exact {
    double sum, squares;
};

__global__ static void sum_exactly(const float* in, size_t count, Exact* out) {
    double sum = 0, squares = 0;
    for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < count; i += size_t(gridDim.x) * blockDim.x) {
        sum += double(in[i]);
        squares += double(in[i]) * double(in[i]);
    }
    sum = harness::warp_sum(sum);
    squares = harness::warp_sum(squares);
    if (threadIdx.x % 32) return;
    atomicAdd(&out->sum, sum);
    atomicAdd(&out->squares, squares);
}

class Sum {
  public:
    using Element = float;
    struct Rung {
        const char* name;
        bool (*launch)(const Array&);
    };

    // Of numbers drawn evenly around zero the sum is about as large as their norm, the root of the sum of their squares,
    // and so are the partial sums on the way: errors are measured in norms. A thread of the plainest rung adds a thousand
    // numbers one after the other, which costs about 1e-6 norms; one element left out costs 5e-5 on average.
    static constexpr double THRESHOLD = 0x1p-17;

    // `offset` moves the first element away from its alignment.
    static std::vector<harness::Parameter> parameters() {
        return {{"n", size_t(1) << 28, 1, size_t(1) << 32}, {"offset", 0, 0, harness::GuardedBuffer<float>::LARGEST_OFFSET}};
    }
    static double bytes(const harness::Options& options) { return sizeof(float) * double(options["n"]); }

    Sum(const harness::Options& options, const Rung& rung)
        : rung_(rung), n_(options["n"]), offset_(options["offset"]), seed_(options.seed), in_(n_), out_(1),
          scratch_(SCRATCH_BYTES) {
        in_.fill(seed_);
        out_.poison();
        scratch_.fill_bytes(0);
    }

    const char* precision() const { return "fp32"; }
    bool launch() { return rung_.launch(array({n_, offset_, offset_})); }
    const char* reference() const { return harness::CopyReference::name(); }
    bool prepare_reference() {
        reference_ = std::make_unique<harness::CopyReference>(work().amount);
        return true;
    }
    void launch_reference() { reference_->launch(); }
    harness::Work work() const { return {sizeof(float) * double(n_), "gbytes_per_s"}; }

    harness::Check check() {
        harness::Check total{0, THRESHOLD};
        total.cases = 0;
        for (const harness::Case& one : harness::cases_of(n_, offset_)) {
            // NaN all around: an element read from outside is as plain as one left out.
            in_.poison();
            harness::fill_uniform(in_.at(one.in_offset), one.n, seed_);
            add(total, one, THRESHOLD);
            fill_whole<<<1024, 256>>>(in_.at(one.in_offset), one.n, seed_ + 1);
            add(total, one, 0);
            if (!total.ok()) break;
        }
        return total;
    }
    void poison() { out_.poison(); }
    harness::Check check_last() {
        harness::Check found{0, THRESHOLD};
        judge(found, {n_, offset_, offset_}, THRESHOLD);
        return found;
    }
    const harness::GuardedBuffer<float>& output() const { return out_; }

  private:
    Array array(const harness::Case& one) const {
        return {one.n, in_.at(one.in_offset), out_.at(one.out_offset), scratch_.data()};
    }

    void add(harness::Check& total, const harness::Case& one, double threshold) {
        poison();
        ++total.cases;
        const bool launched = rung_.launch(array(one));
        CUDA_CHECK(cudaGetLastError());
        CUDA_CHECK(cudaDeviceSynchronize());
        if (!launched && ++total.refused && total.cases == 1) total.wrong = "refuses an aligned array";
        judge(total, one, threshold, launched);
    }

    void judge(harness::Check& total, const harness::Case& one, double threshold, bool launched = true) {
        if (const auto bytes = out_.changed_outside(one.out_offset, launched ? 1 : 0))
            total.wrong = std::to_string(bytes) + " bytes written where nothing may be; " + one.text();
        if (!launched) return;
        harness::Tally<Exact> tally;
        sum_exactly<<<1024, 256>>>(in_.at(one.in_offset), one.n, tally.data());
        const Exact exact = tally.read();
        float result;
        CUDA_CHECK(cudaMemcpy(&result, out_.at(one.out_offset), sizeof result, cudaMemcpyDeviceToHost));
        const double norm = exact.squares > 0 ? std::sqrt(exact.squares) : 1;
        const double error = std::abs(double(result) - exact.sum) / norm;
        total.not_finite += !std::isfinite(result);
        total.error = std::max(total.error, error);
        if (!(error <= threshold)) total.wrong = (threshold > 0 ? "wrong sum; " : "wrong sum of whole numbers; ") + one.text();
    }

    Rung rung_;
    size_t n_, offset_;
    uint64_t seed_;
    harness::GuardedBuffer<float> in_, out_;
    harness::DeviceBuffer<char> scratch_;
    std::unique_ptr<harness::CopyReference> reference_;
};
