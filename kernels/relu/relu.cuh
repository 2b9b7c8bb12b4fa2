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
