// The task of this ladder: out[i] is the mean of the nine elements around in[i], FP32. What lies outside of the array is zero.
// A block makes TILE elements of the result from TILE + 2 * RADIUS of the input.
#pragma once

#include "../harness/elementwise.cuh"

constexpr int RADIUS = 4, TILE = 1024, THREADS = 256;

struct NeighbourMean {
    using Element = float;
    static constexpr const char* precision = "fp32";
    // Half a unit in the last place for each of ten roundings, which do not all go the same way.
    static constexpr double threshold = 4 * 0x1p-24;
    static constexpr float largest = 1;
    static __device__ harness::Term expected(const harness::Map<float>& map, size_t i) {
        double sum = 0, absolute = 0;
        for (size_t j = i < RADIUS ? 0 : i - RADIUS; j <= i + RADIUS && j < map.n; ++j) {
            sum += map.in[j];
            absolute += fabs(double(map.in[j]));
        }
        return {sum / (2 * RADIUS + 1), absolute / (2 * RADIUS + 1)};
    }
};

using Task = harness::Elementwise<NeighbourMean>;

// INSIDE says at compile time that the tile at `first` and its halo lie in the array, so that every check below folds away.
__device__ inline bool lies_inside(const harness::Map<float>& map, size_t first) {
    return first >= RADIUS && first + TILE + RADIUS <= map.n;
}

// Left of the array i has wrapped around, and so is past its end as well.
template <bool INSIDE>
__device__ float element(const harness::Map<float>& map, size_t i) {
    return INSIDE || i < map.n ? map.in[i] : 0.0f;
}

// Four elements from i, a multiple of 4, by one access wherever all four exist.
template <bool INSIDE>
__device__ float4 four_elements(const harness::Map<float>& map, size_t i) {
    if (INSIDE || (i < map.n && map.n - i >= 4)) return *reinterpret_cast<const float4*>(map.in + i);
    return make_float4(element<false>(map, i), element<false>(map, i + 1), element<false>(map, i + 2), element<false>(map, i + 3));
}

template <bool INSIDE>
__device__ void store_element(const harness::Map<float>& map, size_t i, float value) {
    if (INSIDE || i < map.n) map.out[i] = value;
}

template <bool INSIDE>
__device__ void store_four(const harness::Map<float>& map, size_t i, float4 value) {
    if (INSIDE || (i < map.n && map.n - i >= 4)) {
        *reinterpret_cast<float4*>(map.out + i) = value;
        return;
    }
    store_element<false>(map, i, value.x);
    store_element<false>(map, i + 1, value.y);
    store_element<false>(map, i + 2, value.z);
}

__device__ inline float mean_of_nine(const float* x) {
    float sum = 0.0f;
#pragma unroll
    for (int j = 0; j < 2 * RADIUS + 1; ++j) sum += x[j];
    return sum * (1.0f / (2 * RADIUS + 1));
}

// The means around the four elements of `middle`. The six elements in the midst of the twelve belong to all four.
__device__ inline float4 four_means(float4 left, float4 middle, float4 right) {
    const float common = left.w + middle.x + middle.y + middle.z + middle.w + right.x, ninth = 1.0f / (2 * RADIUS + 1);
    return make_float4((common + left.x + left.y + left.z) * ninth, (common + left.y + left.z + right.y) * ninth,
                       (common + left.z + right.y + right.z) * ninth, (common + right.y + right.z + right.w) * ninth);
}
