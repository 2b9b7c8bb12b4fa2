// Rung 4: FP32 multiply-adds, from registers alone.
//
// A thread carries sixteen chains of x = x * a + b, each FMA waiting for the one before it in its own chain only; 2048 threads
// an SM make it 32 chains a lane and cycle of latency more than enough. 256 FMAs a turn of the loop hide its counting.
// Expect: 97 to 99 % of one FMA a lane and cycle, 128 lanes an SM, 66.9 TFLOP/s on an H200 at 1.98 GHz; no memory at all.
#include "ceilings.cuh"

constexpr int THREADS = 256, CHAINS = 16, UNROLL = 16;

// Whole numbers of quarters, so that with a = 1 and a whole b every sum is exact.
__host__ __device__ inline float start_of(uint32_t thread, int chain) { return float((thread * CHAINS + chain) % 61) * 0.25f - 7.5f; }

__global__ void __launch_bounds__(THREADS) ceilings_04_fp32(float a, float b, int turns, float* sums) {
    const uint32_t thread = blockIdx.x * THREADS + threadIdx.x;
    float x[CHAINS];
#pragma unroll
    for (int i = 0; i < CHAINS; ++i) x[i] = start_of(thread, i);
#pragma unroll 1
    for (int turn = 0; turn < turns; ++turn)
#pragma unroll
        for (int step = 0; step < UNROLL; ++step)
#pragma unroll
            for (int i = 0; i < CHAINS; ++i) x[i] = fmaf(x[i], a, b);
    float sum = 0;
#pragma unroll
    for (int i = 0; i < CHAINS; ++i) sum += x[i];
    sums[thread] = sum;
}

// In FP64, by what a chain of n steps comes to: x a^n + b (a^n - 1) / (a - 1).
__global__ void compare_chains(float a, float b, double steps, const float* sums, uint32_t count, double* differences) {
    const double power = pow(double(a), steps), added = a == 1.0f ? b * steps : b * (power - 1) / (double(a) - 1);
    double difference_squared = 0, expected_squared = 0;
    for (uint32_t thread = blockIdx.x * blockDim.x + threadIdx.x; thread < count; thread += gridDim.x * blockDim.x) {
        double expected = 0;
        for (int i = 0; i < CHAINS; ++i) expected += start_of(thread, i) * power + added;
        const double difference = double(sums[thread]) - expected;
        difference_squared += difference * difference;
        expected_squared += expected * expected;
    }
    atomicAdd(&differences[0], difference_squared);
    atomicAdd(&differences[1], expected_squared);
}

class Chains : public Ceiling {
  public:
    struct Rung {
        const char* name;
    };

    Chains(const harness::Options& options, const Rung&)
        : blocks_(unsigned(options["blocks"])), turns_(int(options["steps"] / UNROLL)), seed_(options.seed),
          sums_(size_t(blocks_) * THREADS) {
        if (options["steps"] % UNROLL) harness::fail(harness::UNSUPPORTED, "steps must be a multiple of %d", UNROLL);
        a_ = 1.0f - float(1 + harness::random_bits(seed_, 0) % 64) * 0x1p-16f;
        b_ = float(harness::random_bits(seed_, 1) >> 40) * 0x1p-24f - 0.5f;
    }

    const char* precision() const { return "fp32"; }
    bool launch() {
        run_chains(a_, b_);
        return true;
    }
    harness::Work work() const { return {2.0 * double(sums_.count()) * CHAINS * UNROLL * turns_, "gflops"}; }

    // With a = 1 exactly, where one step too few or too many shows; then with factors below 1, as they are timed.
    harness::Check check() {
        const double most_quarters = 4.0 * CHAINS * (8.0 + MOST_ADDED * double(turns_) * UNROLL);
        const float whole = float(1 + harness::random_bits(seed_, 2) % MOST_ADDED);
        harness::Check total{0, 1e-4};
        if (most_quarters < 0x1p24 && error_of(1.0f, whole) != 0) total.wrong = "chains of whole numbers do not add up";
        total.error = error_of(a_, b_);
        total.cases = 2;
        return total;
    }
    void poison() { sums_.fill_bytes(0xFF); }
    harness::Check check_last() { return {found_error(a_, b_), 1e-4}; }
    const harness::DeviceBuffer<float>& output() const { return sums_; }

  private:
    static constexpr unsigned MOST_ADDED = 7;

    void run_chains(float a, float b) { ceilings_04_fp32<<<blocks_, THREADS>>>(a, b, turns_, sums_.data()); }

    double error_of(float a, float b) {
        poison();
        run_chains(a, b);
        return found_error(a, b);
    }

    double found_error(float a, float b) {
        harness::DeviceBuffer<double> differences(2);
        differences.fill_bytes(0);
        compare_chains<<<256, 256>>>(a, b, double(turns_) * UNROLL, sums_.data(), uint32_t(sums_.count()), differences.data());
        double found[2];
        CUDA_CHECK(cudaGetLastError());
        CUDA_CHECK(cudaMemcpy(found, differences.data(), sizeof found, cudaMemcpyDeviceToHost));
        return found[1] > 0 ? std::sqrt(found[0] / found[1]) : std::sqrt(found[0]);
    }

    unsigned blocks_;
    int turns_;
    uint64_t seed_;
    float a_, b_;
    harness::DeviceBuffer<float> sums_;
};

int main(int argc, char** argv) { return harness::run<Chains>(argc, argv, {"04_fp32"}); }
