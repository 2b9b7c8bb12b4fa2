// The task of this ladder's programs: a random A and B, a poisoned C, and a comparison of C with an FP64 product.
// In: a shape m n k. Every rung computes C = A * B, all row-major; C is FP32, A and B are
// FP32 (multiplied as such or in TF32) or BF16.
#pragma once

#include <algorithm>
#include <cmath>
#include <memory>

#include "../harness/program.cuh"
#include "rung.cuh"

namespace harness {

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
    static constexpr const char* reference = "cuBLAS fp32";
    // Rounding errors of a k-term sum grow like sqrt(k); 2^-24 is half a unit in the last place.
    static double threshold(int k) { return 4.0 * 0x1p-24 * std::sqrt(double(k)); }
};
template <>
struct Precision<__nv_bfloat16> {
    static constexpr const char* name = "bf16";
    static constexpr const char* reference = "cuBLAS bf16";
    // The reference multiplies the rounded inputs, so only the tensor core's accumulation remains; it truncates,
    // and truncation errors grow like k.
    static double threshold(int k) { return std::max(1e-5, 2.0 * 0x1p-24 * k); }
};

template <>
struct Precision<tf32> {
    static constexpr const char* name = "tf32";
    static constexpr const char* reference = "cuBLAS tf32";
    // Cutting off 13 bits of both factors makes every product too small, by 7e-4 on average, whatever k is.
    static double threshold(int) { return 0x1p-10; }
};

template <class Element>
class Multiplication {
  public:
    struct Rung {
        const char* name;
        void (*launch)(const Gemm<Element>&);
    };

    static std::vector<Parameter> parameters() { return {{"m", 4096}, {"n", 4096}, {"k", 4096}}; }

    Multiplication(const Options& options, const Rung& rung)
        : rung_(rung), seed_(options.seed), a_(elements(options, "m", "k")), b_(elements(options, "k", "n")),
          c_(elements(options, "m", "n")),
          gemm_{int(options["m"]), int(options["n"]), int(options["k"]), a_.data(), b_.data(), c_.data()} {
        fill_uniform(a_.data(), a_.count(), seed_);
        fill_uniform(b_.data(), b_.count(), ~seed_);
        c_.fill_bytes(0xFF);
    }

    const char* precision() const { return Precision<Element>::name; }
    const char* reference() const { return Precision<Element>::reference; }
    bool prepare_reference() {
        reference_ = std::make_unique<Reference<Element>>();
        return Reference<Element>::available;
    }
    void launch_reference() { reference_->launch(gemm_); }
    Work work() const { return {2.0 * gemm_.m * gemm_.n * gemm_.k, "gflops"}; }

    bool launch() {
        rung_.launch(gemm_);
        return true;
    }

    Check check() {
        launch();
        Tally<Comparison> sums;
        const dim3 grid(tiles(gemm_.n, 16), std::min(tiles(gemm_.m, 16), 65535));
        compare_with_fp64<<<grid, dim3(16, 16)>>>(gemm_, sums.data());
        const Comparison found = sums.read();
        const double error = std::sqrt(found.difference_squared / std::max(found.reference_squared, 1e-300));
        return {error, Precision<Element>::threshold(gemm_.k), found.not_finite};
    }

  private:
    static size_t elements(const Options& options, const char* rows, const char* columns) {
        const uint64_t count = options[rows] * options[columns], most = 2147483647;
        if (count > most)
            fail(UNSUPPORTED, "a matrix of %llu x %llu has more than %llu elements; offsets here are 32-bit",
                 (unsigned long long)options[rows], (unsigned long long)options[columns], (unsigned long long)most);
        return count;
    }

    Rung rung_;
    uint64_t seed_;
    DeviceBuffer<Element> a_, b_;
    DeviceBuffer<float> c_;
    Gemm<Element> gemm_;
    std::unique_ptr<Reference<Element>> reference_;
};

}  // namespace harness
