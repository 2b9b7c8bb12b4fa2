// The task of this ladder: out[i] = in[i], FP32.
#pragma once

#include "../harness/elementwise.cuh"

struct Copy {
    using Element = float;
    static constexpr const char* precision = "fp32";
    static constexpr double threshold = 0;  // nothing is rounded
    static constexpr float largest = 1;
    static __device__ double expected(double x) { return x; }
};

using Task = harness::Elementwise<Copy>;
