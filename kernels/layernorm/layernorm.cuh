// The task of this ladder: out = gamma * (x - mean) / sqrt(variance + epsilon) + beta, row by row, FP32.
#pragma once

#include "../harness/memcpy.cuh"
#include "../harness/rows.cuh"

constexpr float EPSILON = 1e-5f;

struct LayerNorm : harness::OfMoments {
    using Element = float;
    static constexpr const char* precision = "fp32";
    static constexpr double threshold = 0x1p-20;  // sixteen roundings of FP32
    static constexpr int vectors = 2;
    static std::vector<harness::Parameter> workload() { return {{"rows", 32768}, {"hidden", 4096, 1, 1 << 24}}; }
    static __device__ harness::Term expected(double x, const harness::Moments& row, double gamma, double beta) {
        const double scale = gamma / sqrt(row.variance + double(EPSILON));
        return {scale * (x - row.mean) + beta, fabs(scale) * (fabs(x) + fabs(row.mean)) + fabs(beta)};
    }
};

using Task = harness::Normalization<LayerNorm>;
using Rows = harness::Rows<float>;

// Whether every row of every array can be read by 128-bit accesses.
inline bool suits_float4(const Rows& rows) {
    return rows.hidden % 4 == 0 && harness::is_aligned(rows.in, 16) && harness::is_aligned(rows.gamma, 16) &&
           harness::is_aligned(rows.beta, 16) && harness::is_aligned(rows.out, 16);
}

// The same words for one element and for four.
__device__ inline float sum_of(float v) { return v; }
__device__ inline float sum_of(float4 v) { return (v.x + v.y) + (v.z + v.w); }

__device__ inline float squares_of(float v, float mean) { return (v - mean) * (v - mean); }
__device__ inline float squares_of(float4 v, float mean) {
    return (squares_of(v.x, mean) + squares_of(v.y, mean)) + (squares_of(v.z, mean) + squares_of(v.w, mean));
}

__device__ inline float normalized(float v, float mean, float scale, float gamma, float beta) {
    return (v - mean) * scale * gamma + beta;
}
__device__ inline float4 normalized(float4 v, float mean, float scale, float4 gamma, float4 beta) {
    return make_float4(normalized(v.x, mean, scale, gamma.x, beta.x), normalized(v.y, mean, scale, gamma.y, beta.y),
                       normalized(v.z, mean, scale, gamma.z, beta.z), normalized(v.w, mean, scale, gamma.w, beta.w));
}
