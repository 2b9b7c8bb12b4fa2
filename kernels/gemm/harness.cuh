// The program around one rung of the ladder. A rung hands over a name and a launch function; this file
// parses the command line, fills the matrices, and checks, times or profiles that one kernel.
// In: a shape m n k. Out: results on stdout, everything else on stderr, and an exit code of rung.cuh.
// Every rung computes C = A * B, all row-major; C is FP32, A and B are FP32 or BF16.
#pragma once

#include <cuda_bf16.h>
#include <cuda_profiler_api.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "rung.cuh"

namespace harness {

struct Options {
    std::string mode;
    int m = 4096, n = 4096, k = 4096;
    int repeats = 20, launches = 1, warmup = 5;
    uint64_t seed = 0;
    bool json = false;
};

inline const char* const USAGE_TEXT =
    "usage: %s --mode check|time|profile [--m M] [--n N] [--k K] [--repeats R] [--launches L] [--warmup W]\n"
    "          [--seed S] [--json]\n"
    "  check    compare C = A * B with an FP64 reference on random inputs, C poisoned with NaN beforehand\n"
    "  time     R repeats, each with a flushed L2, interleaved with cuBLAS in the same precision\n"
    "  profile  W launches, then exactly L launches between cudaProfilerStart and cudaProfilerStop\n"
    "  defaults: m = n = k = 4096, R = 20, L = 1, W = 5, S drawn fresh\n";

inline uint64_t parse_number(const char* flag, const char* text, uint64_t low, uint64_t high) {
    char* end = nullptr;
    errno = 0;
    const bool digits = text && *text >= '0' && *text <= '9';
    const uint64_t value = digits ? std::strtoull(text, &end, 10) : 0;
    if (!digits || *end || errno == ERANGE || value < low || value > high)
        fail(USAGE, "%s wants a whole number from %llu to %llu, not '%s'", flag, (unsigned long long)low,
             (unsigned long long)high, text ? text : "");
    return value;
}

inline Options parse_options(int argc, char** argv) {
    constexpr uint64_t INT_LIMIT = 2147483647;
    Options options;
    std::random_device entropy;
    options.seed = (uint64_t(entropy()) << 32) | entropy();
    for (int i = 1; i < argc; ++i) {
        const std::string flag = argv[i];
        if (flag == "--help") {
            std::printf(USAGE_TEXT, argv[0]);
            std::exit(DONE);
        }
        if (flag == "--json") {
            options.json = true;
            continue;
        }
        const char* value = i + 1 < argc ? argv[++i] : nullptr;
        const auto number = [&](uint64_t low, uint64_t high) { return parse_number(flag.c_str(), value, low, high); };
        if (flag == "--mode") options.mode = value ? value : "";
        else if (flag == "--m") options.m = int(number(1, INT_LIMIT));
        else if (flag == "--n") options.n = int(number(1, INT_LIMIT));
        else if (flag == "--k") options.k = int(number(1, INT_LIMIT));
        else if (flag == "--repeats") options.repeats = int(number(1, 1000000));
        else if (flag == "--launches") options.launches = int(number(1, 1000000));
        else if (flag == "--warmup") options.warmup = int(number(0, 1000000));
        else if (flag == "--seed") options.seed = number(0, UINT64_MAX);
        else fail(USAGE, "unknown flag '%s'; --help lists them", flag.c_str());
    }
    if (options.mode != "check" && options.mode != "time" && options.mode != "profile")
        fail(USAGE, "--mode must be check, time or profile, not '%s'", options.mode.c_str());
    const auto elements_fit = [&](int rows, int columns, const char* matrix) {
        if (int64_t(rows) * columns > int64_t(INT_LIMIT))
            fail(UNSUPPORTED, "%s of %d x %d has more than %llu elements; offsets here are 32-bit", matrix, rows, columns,
                 (unsigned long long)INT_LIMIT);
    };
    elements_fit(options.m, options.k, "A");
    elements_fit(options.k, options.n, "B");
    elements_fit(options.m, options.n, "C");
    return options;
}

inline cudaDeviceProp find_device() {
    int count = 0;
    const cudaError_t status = cudaGetDeviceCount(&count);
    if (status != cudaSuccess || count == 0)
        fail(CUDA_FAILED, "no CUDA device: %s", status == cudaSuccess ? "the driver lists none" : cudaGetErrorString(status));
    cudaDeviceProp properties;
    CUDA_CHECK(cudaGetDeviceProperties(&properties, 0));
    CUDA_CHECK(cudaSetDevice(0));
    return properties;
}

// Uniform in [-1, 1), a function of (seed, index) alone, so any launch shape draws the same matrix.
template <class Element>
__global__ void fill_uniform(Element* out, size_t count, uint64_t seed) {
    for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < count; i += size_t(gridDim.x) * blockDim.x) {
        uint64_t x = seed + (i + 1) * 0x9E3779B97F4A7C15ull;
        x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
        x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
        x ^= x >> 31;
        out[i] = Element(float(x >> 40) * 0x1p-23f - 1.0f);
    }
}

struct Comparison {
    double difference_squared, reference_squared;
    unsigned long long not_finite;
};

// Recomputes C with FP64 accumulation, 16 x 16 elements a block, and sums what ||C - R|| and ||R|| need.
template <class Element>
__global__ void compare_with_fp64(Gemm<Element> g, Comparison* out) {
    constexpr int T = 16;
    __shared__ double as[T][T + 1], bs[T][T + 1];
    const int x = threadIdx.x, y = threadIdx.y;
    const int col = blockIdx.x * T + x;
    double difference_squared = 0, reference_squared = 0;
    for (int row0 = blockIdx.y * T; row0 < g.m; row0 += gridDim.y * T) {
        const int row = row0 + y;
        double sum = 0;
        for (int k0 = 0; k0 < g.k; k0 += T) {
            as[y][x] = row < g.m && k0 + x < g.k ? double(float(g.a[size_t(row) * g.k + k0 + x])) : 0.0;
            bs[y][x] = col < g.n && k0 + y < g.k ? double(float(g.b[size_t(k0 + y) * g.n + col])) : 0.0;
            __syncthreads();
            for (int i = 0; i < T; ++i) sum += as[y][i] * bs[i][x];
            __syncthreads();
        }
        if (row < g.m && col < g.n) {
            const float value = g.c[size_t(row) * g.n + col];
            if (!isfinite(value)) atomicAdd(&out->not_finite, 1ull);
            difference_squared += (value - sum) * (value - sum);
            reference_squared += sum * sum;
        }
    }
    atomicAdd(&out->difference_squared, difference_squared);
    atomicAdd(&out->reference_squared, reference_squared);
}

template <class Element>
struct Precision;
template <>
struct Precision<float> {
    static constexpr const char* name = "fp32";
    // Rounding errors of a k-term sum grow like sqrt(k); 2^-24 is half a unit in the last place.
    static double threshold(int k) { return 4.0 * 0x1p-24 * std::sqrt(double(k)); }
};
template <>
struct Precision<__nv_bfloat16> {
    static constexpr const char* name = "bf16";
    // The reference multiplies the rounded inputs, so only the tensor core's accumulation remains; it truncates,
    // and truncation errors grow like k.
    static double threshold(int k) { return std::max(1e-5, 2.0 * 0x1p-24 * k); }
};

template <class T>
class DeviceBuffer {
  public:
    explicit DeviceBuffer(size_t count) : count_(count) {
        if (cudaMalloc(&data_, count * sizeof(T)) == cudaErrorMemoryAllocation)
            fail(OUT_OF_MEMORY, "out of device memory: no room for %.1f MB more", count * sizeof(T) / 1e6);
        CUDA_CHECK(cudaGetLastError());
    }
    ~DeviceBuffer() { cudaFree(data_); }
    DeviceBuffer(const DeviceBuffer&) = delete;
    DeviceBuffer& operator=(const DeviceBuffer&) = delete;
    T* data() const { return data_; }
    size_t bytes() const { return count_ * sizeof(T); }
    void fill_bytes(int value) { CUDA_CHECK(cudaMemsetAsync(data_, value, bytes())); }

  private:
    T* data_ = nullptr;
    size_t count_;
};

class Event {
  public:
    Event() { CUDA_CHECK(cudaEventCreate(&event_)); }
    ~Event() { cudaEventDestroy(event_); }
    Event(const Event&) = delete;
    Event& operator=(const Event&) = delete;
    void record() { CUDA_CHECK(cudaEventRecord(event_)); }
    double ns_since(const Event& start) const {
        float ms = 0;
        CUDA_CHECK(cudaEventElapsedTime(&ms, start.event_, event_));
        return ms * 1e6;
    }

  private:
    cudaEvent_t event_ = nullptr;
};

// Linear interpolation between the closest ranks of a sorted sample.
inline double quantile(const std::vector<double>& sorted, double q) {
    const double rank = q * double(sorted.size() - 1);
    const size_t below = size_t(rank);
    const size_t above = std::min(below + 1, sorted.size() - 1);
    return sorted[below] + (rank - double(below)) * (sorted[above] - sorted[below]);
}

template <class Element>
class Program {
  public:
    Program(const Rung<Element>& rung, const Options& options, const cudaDeviceProp& device)
        : rung_(rung), options_(options), device_(device), a_(size_t(options.m) * options.k),
          b_(size_t(options.k) * options.n), c_(size_t(options.m) * options.n),
          gemm_{options.m, options.n, options.k, a_.data(), b_.data(), c_.data()} {
        fill_uniform<<<1024, 256>>>(a_.data(), a_.bytes() / sizeof(Element), options.seed);
        fill_uniform<<<1024, 256>>>(b_.data(), b_.bytes() / sizeof(Element), ~options.seed);
        CUDA_CHECK(cudaGetLastError());
        c_.fill_bytes(0xFF);
        CUDA_CHECK(cudaDeviceSynchronize());
    }

    int run() {
        if (options_.mode == "check") return check();
        if (options_.mode == "time") return time();
        return profile();
    }

  private:
    void launch() {
        rung_.launch(gemm_);
        CUDA_CHECK(cudaGetLastError());
    }

    void print_identity(const char* mode) const {
        std::printf("{\"mode\":\"%s\",\"kernel\":\"%s\",\"precision\":\"%s\",\"gpu\":\"%s\",\"m\":%d,\"n\":%d,\"k\":%d,"
                    "\"seed\":%llu", mode, rung_.name, Precision<Element>::name, device_.name, options_.m, options_.n,
                    options_.k, (unsigned long long)options_.seed);
    }

    int check() {
        launch();
        CUDA_CHECK(cudaDeviceSynchronize());
        DeviceBuffer<Comparison> device_sums(1);
        device_sums.fill_bytes(0);
        const dim3 grid(tiles(gemm_.n, 16), std::min(tiles(gemm_.m, 16), 65535));
        compare_with_fp64<<<grid, dim3(16, 16)>>>(gemm_, device_sums.data());
        CUDA_CHECK(cudaGetLastError());
        Comparison sums;
        CUDA_CHECK(cudaMemcpy(&sums, device_sums.data(), sizeof sums, cudaMemcpyDeviceToHost));
        const bool finite = sums.not_finite == 0 && std::isfinite(sums.difference_squared);
        const double error = finite ? std::sqrt(sums.difference_squared / std::max(sums.reference_squared, 1e-300)) : -1;
        const double threshold = Precision<Element>::threshold(gemm_.k);
        const bool ok = finite && error <= threshold;
        if (options_.json) {
            print_identity("check");
            if (finite) std::printf(",\"relative_error\":%.4e", error);
            else std::printf(",\"relative_error\":null");
            std::printf(",\"threshold\":%.4e,\"not_finite\":%llu,\"ok\":%s}\n", threshold, sums.not_finite, ok ? "true" : "false");
        } else {
            std::printf("%s %d x %d x %d, seed %llu: %s, relative error %.3e (at most %.3e), %llu not finite\n", rung_.name,
                        gemm_.m, gemm_.n, gemm_.k, (unsigned long long)options_.seed, ok ? "correct" : "WRONG", error,
                        threshold, sums.not_finite);
        }
        if (!finite) std::fprintf(stderr, "error: %llu elements of C are NaN or infinite\n", sums.not_finite);
        else if (!ok) std::fprintf(stderr, "error: relative error %.3e is above %.3e\n", error, threshold);
        return ok ? DONE : MISMATCH;
    }

    // What is timed is one launch with a cold L2; the flush is queued ahead of it and so hides the launch latency.
    template <class Launch>
    double time_once_ns(DeviceBuffer<char>& flush, Launch launch) {
        flush.fill_bytes(0);
        start_.record();
        launch();
        stop_.record();
        CUDA_CHECK(cudaDeviceSynchronize());
        return stop_.ns_since(start_);
    }

    int time() {
        constexpr bool has_reference = Reference<Element>::available;
        if (!has_reference) std::fprintf(stderr, "built without cuBLAS: timing %s without a reference\n", rung_.name);
        Reference<Element> reference;
        DeviceBuffer<char> flush(size_t(std::max(device_.l2CacheSize, 1 << 20)) * 4);
        const auto kernel_once = [&] { return time_once_ns(flush, [&] { launch(); }); };
        const auto reference_once = [&] { return time_once_ns(flush, [&] { reference.launch(gemm_); }); };
        for (int i = 0; i < options_.warmup; ++i) {
            kernel_once();
            if (has_reference) reference_once();
        }
        std::vector<double> kernel_ns, reference_ns;
        for (int i = 0; i < options_.repeats; ++i) {
            // Alternating which of the two goes first cancels what the first leaves behind: heat, clocks.
            if (has_reference && i % 2) reference_ns.push_back(reference_once());
            kernel_ns.push_back(kernel_once());
            if (has_reference && i % 2 == 0) reference_ns.push_back(reference_once());
            if (!options_.json) continue;
            std::printf("{\"repeat\":%d,\"kernel_ns\":%.0f,\"reference_ns\":", i, kernel_ns.back());
            if (has_reference) std::printf("%.0f}\n", reference_ns.back());
            else std::printf("null}\n");
        }
        print_times(kernel_ns, reference_ns);
        return DONE;
    }

    void print_times(std::vector<double> kernel_ns, std::vector<double> reference_ns) const {
        std::sort(kernel_ns.begin(), kernel_ns.end());
        std::sort(reference_ns.begin(), reference_ns.end());
        const double median = quantile(kernel_ns, 0.5), iqr = quantile(kernel_ns, 0.75) - quantile(kernel_ns, 0.25);
        const double gflops = 2.0 * gemm_.m * gemm_.n * gemm_.k / median;
        const double reference = reference_ns.empty() ? 0 : quantile(reference_ns, 0.5);
        if (options_.json) {
            print_identity("time");
            std::printf(",\"summary\":true,\"repeats\":%d,\"kernel_median_ns\":%.0f,\"kernel_min_ns\":%.0f,"
                        "\"kernel_max_ns\":%.0f,\"kernel_iqr_ns\":%.0f,\"gflops\":%.1f", options_.repeats, median,
                        kernel_ns.front(), kernel_ns.back(), iqr, gflops);
            if (reference_ns.empty())
                std::printf(",\"reference\":null,\"reference_median_ns\":null,\"reference_pct\":null}\n");
            else
                std::printf(",\"reference\":\"cuBLAS %s\",\"reference_median_ns\":%.0f,\"reference_pct\":%.2f}\n",
                            Precision<Element>::name, reference, 100 * reference / median);
            return;
        }
        std::printf("%s %d x %d x %d %s on %s, seed %llu\n", rung_.name, gemm_.m, gemm_.n, gemm_.k, Precision<Element>::name,
                    device_.name, (unsigned long long)options_.seed);
        std::printf("  median %.1f us (min %.1f, max %.1f, interquartile %.1f), %.1f GFLOP/s\n", median / 1e3,
                    kernel_ns.front() / 1e3, kernel_ns.back() / 1e3, iqr / 1e3, gflops);
        if (!reference_ns.empty())
            std::printf("  cuBLAS %.1f us: this kernel runs at %.1f %% of it\n", reference / 1e3, 100 * reference / median);
    }

    int profile() {
        for (int i = 0; i < options_.warmup; ++i) launch();
        CUDA_CHECK(cudaDeviceSynchronize());
        CUDA_CHECK(cudaProfilerStart());
        for (int i = 0; i < options_.launches; ++i) launch();
        CUDA_CHECK(cudaDeviceSynchronize());
        CUDA_CHECK(cudaProfilerStop());
        if (options_.json) {
            print_identity("profile");
            std::printf(",\"warmup\":%d,\"launches\":%d}\n", options_.warmup, options_.launches);
        } else {
            std::printf("%s: %d launches in the profiler window after %d before it\n", rung_.name, options_.launches,
                        options_.warmup);
        }
        return DONE;
    }

    Rung<Element> rung_;
    Options options_;
    cudaDeviceProp device_;
    DeviceBuffer<Element> a_, b_;
    DeviceBuffer<float> c_;
    Gemm<Element> gemm_;
    Event start_, stop_;
};

template <class Element>
int run(int argc, char** argv, const Rung<Element>& rung) {
    const Options options = parse_options(argc, argv);
    return Program<Element>(rung, options, find_device()).run();
}

}  // namespace harness
