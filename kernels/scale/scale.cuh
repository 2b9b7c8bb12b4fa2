// The task of this ladder: out[i] = a * in[i], FP32.
#pragma once

#include "../harness/elementwise.cuh"

struct Scale {
    using Element = float;
    static constexpr const char* precision = "fp32";
    static constexpr double threshold = 0;  // one rounding, and it is the right one
    static constexpr float largest = 1;
    static constexpr float A = 1.7f;
    static __device__ double expected(double x) { return double(A) * x; }
};

using Task = harness::Elementwise<Scale>;

__device__ inline float scale(float a, float x) { return a * x; }
__device__ inline float2 scale(float a, float2 x) { return make_float2(a * x.x, a * x.y); }
__device__ inline float4 scale(float a, float4 x) { return make_float4(a * x.x, a * x.y, a * x.z, a * x.w); }
