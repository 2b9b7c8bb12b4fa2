// The task of this ladder: out[i] = GELU(in[i]), FP32, exactly and in the form with tanh. Inputs are uniform in [-6, 6).
#pragma once

#include "../harness/elementwise.cuh"

// x times the normal distribution's integral up to x. For negative x it is a small difference of large terms.
struct Gelu {
    using Element = float;
    static constexpr const char* precision = "fp32";
    // Of the terms: about four roundings, and an erf or exp that may be off by two units in the last place.
    static constexpr double threshold = 8 * 0x1p-24;
    static constexpr float largest = 6;
    static __device__ harness::Term expected(double x) { return half_of(x, erf(x * 0.70710678118654752)); }
    static __device__ harness::Term half_of(double x, double s) { return {0.5 * x * (1 + s), 0.5 * fabs(x) * (1 + fabs(s))}; }
};

// The same but for at most 4.8e-4, by a function that is cheaper than erf.
struct GeluTanh : Gelu {
    static __device__ harness::Term expected(double x) {
        return half_of(x, tanh(0.79788456080286536 * (x + 0.044715 * x * x * x)));
    }
};

using Task = harness::Elementwise<Gelu>;

__device__ inline float gelu(float x) { return 0.5f * x * (1.0f + erff(x * 0.70710678f)); }

// 1 + tanh(u) is 2 / (1 + exp(-2u)). Where the exponential overflows, the quotient is 0, as it should be.
__device__ inline float gelu_tanh(float x) {
    const float minus_2u = -1.59576912f * (x + 0.044715f * x * x * x);
    return __fdividef(x, 1.0f + __expf(minus_2u));
}

// By a polynomial in place of tanh, see rung 4: p's coefficients, times -log2(e), from the highest. Beyond |x| = 6, where the fit ends, the product only grows, and with it
// the result's distance from x or 0 only shrinks.
__device__ inline float gelu_logistic(float x) {
    const float t = x * x;
    float p = -4.91086771e-09f;
    p = p * t + 3.75821287e-07f;
    p = p * t - 1.1363365e-05f;
    p = p * t + 1.59137577e-04f;
    p = p * t + 9.5181349e-05f;
    p = p * t - 1.04836248e-01f;
    p = p * t - 2.3022089f;
    return __fdividef(x, 1.0f + exp2f(x * p));
}
__device__ inline float4 gelu_logistic(float4 x) {
    return make_float4(gelu_logistic(x.x), gelu_logistic(x.y), gelu_logistic(x.z), gelu_logistic(x.w));
}
