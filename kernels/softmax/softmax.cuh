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

// Less than any element that counts, and finite: what has been seen of a row before its first element.
constexpr float LOWEST = -1e38f;

// exp(x - largest) by one fused multiply-add and one exp2.
__device__ __forceinline__ float exp_below(float x, float largest) {
    constexpr float LOG2_E = 1.4426950408889634f;
    return exp2f(fmaf(x, LOG2_E, -largest * LOG2_E));
}

// A part of a row: its largest element, and the sum of exp(x - largest) over its elements.
struct Part {
    float largest, sum;
};
__device__ __forceinline__ Part no_part() { return {LOWEST, 0}; }

__device__ __forceinline__ Part merged(Part a, Part b) {
    const float largest = fmaxf(a.largest, b.largest);
    return {largest, a.sum * exp_below(a.largest, largest) + b.sum * exp_below(b.largest, largest)};
}

__device__ __forceinline__ Part merged_by_warp(Part part) {
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2)
        part = merged(part, {__shfl_xor_sync(0xFFFFFFFFu, part.largest, distance), __shfl_xor_sync(0xFFFFFFFFu, part.sum, distance)});
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
__device__ __forceinline__ float4 exp_below(float4 v, float largest) {
    return make_float4(exp_below(v.x, largest), exp_below(v.y, largest), exp_below(v.z, largest), exp_below(v.w, largest));
}
__device__ __forceinline__ float scaled(float v, float by) { return v * by; }
__device__ __forceinline__ float4 scaled(float4 v, float by) { return make_float4(v.x * by, v.y * by, v.z * by, v.w * by); }

// Of the vectors that a thread holds, `count` of which are of the row: leaves exp(x - largest of these) in their place.
template <int COUNT, class Vector>
__device__ __forceinline__ Part part_of(Vector (&v)[COUNT], int count) {
    Part part = no_part();
#pragma unroll
    for (int k = 0; k < COUNT; ++k)
        if (k < count) part.largest = fmaxf(part.largest, largest_of(v[k]));
#pragma unroll
    for (int k = 0; k < COUNT; ++k) {
        v[k] = exp_below(v[k], part.largest);
        if (k < count) part.sum += sum_of(v[k]);
    }
    return part;
}

// Whether every row of both arrays can be accessed by 128 bits.
inline bool suits_float4(const Rows& rows) {
    return rows.hidden % 4 == 0 && harness::is_aligned(rows.in, 16) && harness::is_aligned(rows.out, 16);
}
