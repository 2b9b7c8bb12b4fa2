// The task of this ladder: out[i] = GELU(in[i]), FP32, exactly and in the form with tanh. Inputs are uniform in [-6, 6).
#pragma once

#include "../harness/elementwise.cuh"

// x times the normal distribution's integral up to x.
struct Gelu {
    using Element = float;
    static constexpr const char* precision = "fp32";
    // Half a unit in the last place for each of four roundings; an element is rarely off by more than two of them.
    static constexpr double threshold = 4 * 0x1p-24;
    static constexpr float largest = 6;
    static __device__ double expected(double x) { return 0.5 * x * (1 + erf(x * 0.70710678118654752)); }
};

// The same but for at most 5e-4, by a function that is cheaper than erf.
struct GeluTanh : Gelu {
    static __device__ double expected(double x) {
        return 0.5 * x * (1 + tanh(0.79788456080286536 * (x + 0.044715 * x * x * x)));
    }
};

using Task = harness::Elementwise<Gelu>;
using TanhTask = harness::Elementwise<GeluTanh>;

__device__ inline float gelu(float x) { return 0.5f * x * (1.0f + erff(x * 0.70710678f)); }
__device__ inline float2 gelu(float2 x) { return make_float2(gelu(x.x), gelu(x.y)); }
__device__ inline float4 gelu(float4 x) { return make_float4(gelu(x.x), gelu(x.y), gelu(x.z), gelu(x.w)); }

// 1 + tanh(u) is 2 / (1 + exp(-2u)). Where the exponential overflows, the quotient is 0, as it should be.
__device__ inline float gelu_tanh(float x) {
    const float minus_2u = -1.59576912f * (x + 0.044715f * x * x * x);
    return __fdividef(x, 1.0f + __expf(minus_2u));
}
__device__ inline float2 gelu_tanh(float2 x) { return make_float2(gelu_tanh(x.x), gelu_tanh(x.y)); }
__device__ inline float4 gelu_tanh(float4 x) {
    return make_float4(gelu_tanh(x.x), gelu_tanh(x.y), gelu_tanh(x.z), gelu_tanh(x.w));
}
