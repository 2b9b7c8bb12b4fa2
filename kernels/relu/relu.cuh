// The task of this ladder: out[i] = max(in[i], 0), FP32.
#pragma once

#include "../harness/elementwise.cuh"

struct Relu {
    using Element = float;
    static constexpr const char* precision = "fp32";
    static constexpr double threshold = 0;  // nothing is rounded
    static constexpr float largest = 1;
    static __device__ double expected(double x) { return x > 0 ? x : 0; }
};

using Task = harness::Elementwise<Relu>;

__device__ inline float relu(float x) { return fmaxf(x, 0.0f); }
__device__ inline float2 relu(float2 x) { return make_float2(relu(x.x), relu(x.y)); }
__device__ inline float4 relu(float4 x) { return make_float4(relu(x.x), relu(x.y), relu(x.z), relu(x.w)); }
