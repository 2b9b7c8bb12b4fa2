// How exact a product has to be: for each precision, by which factors the hardware multiplies, and how far one element of
// C may lie from the FP64 sum of those products. NOTES.md derives the bounds; host and device share them.
#pragma once

#include <cuda_bf16.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "rung.cuh"

namespace harness {

// Half a unit in the last place of FP32: one rounding errs by at most this share of its result.
constexpr double UNIT = 0x1p-24;

// FMAs. However k products are added, the sum errs by at most k units of the sum of their magnitudes. Ours have random signs,
// so that partial sums grow like sqrt(k) only, and the error's root mean square is about half a unit, whatever k is.
__host__ __device__ inline double allowed_by_fmas(int k, double magnitude) { return (k < 32 ? k : 32) * UNIT * magnitude; }

// Tensor cores cut sums off instead of rounding them: errors have one sign, and their sum grows with the partial sums.
__host__ __device__ inline double allowed_by_tensor_cores(int k, double magnitude) {
    return (32 + sqrt(double(k))) * UNIT * magnitude;
}

// `threshold` bounds ||C - R|| / ||R||, R being the product of the matrices as they are. `allowed` bounds |c - exact| of each
// element, where `exact` is the sum of the products as `multiplied` makes them, and `magnitude` the sum of their magnitudes.
template <class Element, class Result = float>
struct Precision;

template <>
struct Precision<float> {
    static constexpr const char* name = "fp32";
    // Rounding errors of a k-term sum grow like sqrt(k).
    static double threshold(int k) { return 4.0 * UNIT * std::sqrt(double(k)); }
    __host__ __device__ static double multiplied(double factor) { return factor; }
    __host__ __device__ static double allowed(int k, double magnitude, double) { return allowed_by_fmas(k, magnitude); }
};

template <>
struct Precision<__nv_bfloat16> {
    static constexpr const char* name = "bf16";
    // The matrices hold rounded numbers, so only the tensor core's accumulation remains: truncation errors grow like k.
    static double threshold(int k) { return std::max(1e-5, 2.0 * UNIT * k); }
    __host__ __device__ static double multiplied(double factor) { return factor; }
    __host__ __device__ static double allowed(int k, double magnitude, double) { return allowed_by_tensor_cores(k, magnitude); }
};

// The same, and each element of C is rounded to 8 bits at the end: by at most 2^-8 of itself, and by 1.7e-3 on average.
template <>
struct Precision<__nv_bfloat16, __nv_bfloat16> {
    static constexpr const char* name = "bf16 to bf16";
    static double threshold(int k) { return 0x1p-9 + Precision<__nv_bfloat16>::threshold(k); }
    __host__ __device__ static double multiplied(double factor) { return factor; }
    __host__ __device__ static double allowed(int k, double magnitude, double exact) {
        return 1.01 * allowed_by_tensor_cores(k, magnitude) + 0x1p-8 * fabs(exact);
    }
};

// FP8. The tensor cores align each instruction's 32 products and the sum so far to the largest of them and keep 13 bits below
// its first, so that an error of 2^-13 of what is added takes the place of FP32's 2^-24.
template <>
struct Precision<e4m3, __nv_bfloat16> {
    static constexpr const char* name = "e4m3 to bf16";
    static double threshold(int k) { return 0x1p-9 + 0x1p-15 * std::sqrt(double(k)); }
    __host__ __device__ static double multiplied(double factor) { return factor; }
    __host__ __device__ static double allowed(int, double magnitude, double exact) {
        return 8 * 0x1p-13 * magnitude + 0x1p-8 * fabs(exact);
    }
};

template <>
struct Precision<tf32> {
    static constexpr const char* name = "tf32";
    // Cutting off 13 bits of both factors makes every product too small, by 7e-4 on average, whatever k is. (cuBLAS rounds: 2.6e-4.)
    static double threshold(int) { return 0x1p-10; }
    __host__ __device__ static double multiplied(double factor) {
        float value = float(factor);
        uint32_t bits;
        memcpy(&bits, &value, sizeof bits);
        bits &= ~0x1FFFu;
        memcpy(&value, &bits, sizeof bits);
        return value;
    }
    __host__ __device__ static double allowed(int k, double magnitude, double) { return allowed_by_tensor_cores(k, magnitude); }
};

// GELU as networks compute it, by tanh.
__host__ __device__ inline double gelu(double x) { return 0.5 * x * (1 + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x))); }

// GELU(x) where x may be off by `product_allowed`, in BF16. It is nowhere steeper than 1.13; the tanh of the hardware errs by up to
// 2^-11 of itself, so by 2^-12 of x, and rounding errs by 2^-8 of the result.
__host__ __device__ inline double allowed_of_gelu(double product_allowed, double x) {
    return 1.13 * product_allowed + 1.01 * 0x1p-12 * fabs(x) + 0x1p-8 * fabs(gelu(x));
}

// How far `value` is off, in parts of what is allowed: more than 1, and what is no number, is wrong.
template <class Element, class Result>
__host__ __device__ double parts_off(int k, double exact, double magnitude, double value) {
    const double off = fabs(value - exact);
    return off == 0 ? 0 : off / Precision<Element, Result>::allowed(k, magnitude, exact);
}

}  // namespace harness
