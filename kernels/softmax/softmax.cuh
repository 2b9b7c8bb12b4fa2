// The task of this ladder: out = exp(x - largest) / sum of exp(x - largest), row by row, FP32.
#pragma once

#include "../harness/memcpy.cuh"
#include "../harness/rows.cuh"

struct Softmax {
    using Element = float;
    static constexpr const char* precision = "fp32";
    static constexpr double threshold = 0x1p-18;
    static constexpr int vectors = 0;
    static constexpr float spread = 64;  // exp(4 * 64) is beyond FP32: a kernel that forgets the largest overflows
    struct Denominator {
        double largest, sum;
    };
    static std::vector<harness::Parameter> workload() { return {{"rows", 65536}, {"hidden", 4096, 1, 1 << 24}}; }
    static __device__ Denominator statistics(const float* in, uint32_t hidden) {
        using harness::COMPARE_THREADS;
        __shared__ double of_warps[2][COMPARE_THREADS / 32];
        double largest = double(in[0]), sum = 0;
        for (uint32_t i = threadIdx.x; i < hidden; i += COMPARE_THREADS) largest = max(largest, double(in[i]));
        largest = harness::block_max<COMPARE_THREADS>(largest, of_warps[0]);
        for (uint32_t i = threadIdx.x; i < hidden; i += COMPARE_THREADS) sum += exp(double(in[i]) - largest);
        return {largest, harness::block_sum<COMPARE_THREADS>(sum, of_warps[1])};
    }
    static __device__ harness::Term expected(double x, const Denominator& row, double, double) {
        const double value = exp(x - row.largest) / row.sum;
        return {value, value};
    }
};

using Task = harness::Normalization<Softmax>;
using Rows = harness::Rows<float>;

// Exponents are of two: exp(x - largest) is 2 ^ (x * LOG2_E - shift), by one fused multiply-add and one exp2, where the shift is
// largest * LOG2_E, rounded. Its rounding multiplies all of a row alike, so it cancels, as long as every shift is one such number.
constexpr float LOG2_E = 1.4426950408889634f;
constexpr float LOWEST = -1e38f;  // below any shift that counts, and finite

__device__ __forceinline__ float exp_below(float x, float shift) { return exp2f(fmaf(x, LOG2_E, -shift)); }

// A part of a row: the shift of its largest element, and the sum of its exponentials with that shift.
struct Part {
    float shift, sum;
};
__device__ __forceinline__ Part no_part() { return {LOWEST, 0}; }

// The part with one more element: the old sum is scaled from its own shift to the larger one.
__device__ __forceinline__ Part with(Part part, float x) {
    const float shift = fmaxf(part.shift, x * LOG2_E);
    return {shift, part.sum * exp2f(part.shift - shift) + exp_below(x, shift)};
}

__device__ __forceinline__ Part merged(Part a, Part b) {
    const float shift = fmaxf(a.shift, b.shift);
    return {shift, a.sum * exp2f(a.shift - shift) + b.sum * exp2f(b.shift - shift)};
}

__device__ __forceinline__ Part merged_by_warp(Part part) {
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2)
        part = merged(part, {__shfl_xor_sync(0xFFFFFFFFu, part.shift, distance), __shfl_xor_sync(0xFFFFFFFFu, part.sum, distance)});
    return part;
}

// Every thread gets the whole; all THREADS of the block must take part.
template <int THREADS>
__device__ __forceinline__ Part merged_by_block(Part part, Part (&of_warps)[THREADS / 32]) {
    const unsigned lane = threadIdx.x % 32;
    part = merged_by_warp(part);
    if (lane == 0) of_warps[threadIdx.x / 32] = part;
    __syncthreads();
    return merged_by_warp(lane < THREADS / 32 ? of_warps[lane] : no_part());
}

// The same words for one element and for four.
__device__ __forceinline__ float largest_of(float v) { return v; }
__device__ __forceinline__ float largest_of(float4 v) { return fmaxf(fmaxf(v.x, v.y), fmaxf(v.z, v.w)); }
__device__ __forceinline__ float sum_of(float v) { return v; }
__device__ __forceinline__ float sum_of(float4 v) { return (v.x + v.y) + (v.z + v.w); }
__device__ __forceinline__ float4 exp_below(float4 v, float shift) {
    return make_float4(exp_below(v.x, shift), exp_below(v.y, shift), exp_below(v.z, shift), exp_below(v.w, shift));
}
__device__ __forceinline__ float scaled(float v, float by) { return v * by; }
__device__ __forceinline__ float4 scaled(float4 v, float by) { return make_float4(v.x * by, v.y * by, v.z * by, v.w * by); }

// The part of a row that a thread holds in its first `count` vectors. Leaves each element's exponential in its place.
template <int COUNT, class Vector>
__device__ __forceinline__ Part part_of(Vector (&v)[COUNT], int count) {
    Part part = no_part();
#pragma unroll
    for (int k = 0; k < COUNT; ++k)
        if (k < count) part.shift = fmaxf(part.shift, largest_of(v[k]) * LOG2_E);
#pragma unroll
    for (int k = 0; k < COUNT; ++k) {
        v[k] = exp_below(v[k], part.shift);
        if (k < count) part.sum += sum_of(v[k]);
    }
    return part;
}

// True if every row of both arrays can be accessed by 128 bits.
inline bool suits_float4(const Rows& rows) {
    return rows.hidden % 4 == 0 && harness::is_aligned(rows.in, 16) && harness::is_aligned(rows.out, 16);
}
