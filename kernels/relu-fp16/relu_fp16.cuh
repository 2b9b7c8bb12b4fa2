// The task of this ladder, out[i] = max(in[i], 0) in FP16, and that maximum for two, four and eight halves at once.
#pragma once

#include <cuda_fp16.h>

#include "../harness/elementwise.cuh"

struct ReluFp16 {
    using Element = __half;
    static constexpr const char* precision = "fp16";
    static constexpr double threshold = 0;  // nothing is rounded
    static constexpr float largest = 1;
    static __device__ double expected(double x) { return x > 0 ? x : 0; }
};

using Task = harness::Elementwise<ReluFp16>;

__device__ inline __half relu(__half x) { return __hmax(x, __half(0.0f)); }

// Halves travel in pairs as one unsigned, uint2 or uint4: those are moved by one access. A struct of four __half2 is read by four
// 32-bit loads, whatever its alignment.
__device__ inline unsigned relu(unsigned pair) {
    const __half2 x = __hmax2(reinterpret_cast<const __half2&>(pair), __half2half2(0.0f));
    return reinterpret_cast<const unsigned&>(x);
}
__device__ inline uint2 relu(uint2 x) { return make_uint2(relu(x.x), relu(x.y)); }
__device__ inline uint4 relu(uint4 x) { return make_uint4(relu(x.x), relu(x.y), relu(x.z), relu(x.w)); }
