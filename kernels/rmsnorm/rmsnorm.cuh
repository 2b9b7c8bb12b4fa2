// The task of this ladder: out = x / sqrt(mean of the row's squares + epsilon) * gamma, row by row, in FP16 or BF16 with the
// statistics in FP32.
#pragma once

#include "../harness/memcpy.cuh"
#include "../harness/rows.cuh"
#include "row.cuh"

template <class Element>
struct RmsNorm;

struct RmsNormTask : harness::OfMoments {
    static constexpr int vectors = 1;
    static std::vector<harness::Parameter> workload() {
        return {{"rows", 131072}, {"hidden", 4096, 1, 1u << 24}, {"bf16", 0, 0, 1}};
    }
    // Of a result below 2^-14 FP16 keeps fewer bits: its error is not proportional to it any more.
    static __device__ harness::Term expected(double x, const harness::Moments& row, double gamma, double) {
        const double value = x / sqrt(row.mean_square() + double(EPSILON)) * gamma;
        return {value, fmax(fabs(value), 0x1p-14)};
    }
};

// Half an ulp for the one rounding of the result, and a little for the statistics.
template <>
struct RmsNorm<__half> : RmsNormTask {
    using Element = __half;
    static constexpr const char* precision = "fp16";
    static constexpr double threshold = 1.01 * 0x1p-11;
};

template <>
struct RmsNorm<__nv_bfloat16> : RmsNormTask {
    using Element = __nv_bfloat16;
    static constexpr const char* precision = "bf16";
    static constexpr double threshold = 1.01 * 0x1p-8;
};

template <class Element>
using Task = harness::Normalization<RmsNorm<Element>>;

// A rung is `Launch::of<Element>(rows)`, for either type: --bf16 says which.
template <class Launch>
int run_rung(int argc, char** argv, const char* name) {
    const bool bf16 = harness::parse_options(argc, argv, Task<__half>::parameters())["bf16"] != 0;
    if (bf16) return harness::run<Task<__nv_bfloat16>>(argc, argv, {name, Launch::template of<__nv_bfloat16>});
    return harness::run<Task<__half>>(argc, argv, {name, Launch::template of<__half>});
}
