// RMSNorm of one row by one block: reading it twice, element by element, or once, 128 bits at a time, and keeping it in
// registers. Rows are FP16 or BF16, statistics FP32. ../embedding-rmsnorm does the same to rows of a table.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

#include "../harness/reduce.cuh"

constexpr float EPSILON = 1e-6f;

__device__ __forceinline__ float2 to_floats(__half2 pair) { return __half22float2(pair); }
__device__ __forceinline__ float2 to_floats(__nv_bfloat162 pair) { return __bfloat1622float2(pair); }

template <class Element>
struct PairOf;
template <>
struct PairOf<__half> {
    using Type = __half2;
    static __device__ Type from(float2 pair) { return __float22half2_rn(pair); }
};
template <>
struct PairOf<__nv_bfloat16> {
    using Type = __nv_bfloat162;
    static __device__ Type from(float2 pair) { return __float22bfloat162_rn(pair); }
};
template <class Element>
using Pair = typename PairOf<Element>::Type;

// Eight elements, as a 128-bit access moves them.
template <class Element>
struct alignas(16) Eight {
    Pair<Element> pairs[4];
};

template <class Element>
__device__ __forceinline__ float sum_of_squares(const Eight<Element>& x) {
    float sum = 0;
#pragma unroll
    for (const Pair<Element>& pair : x.pairs) {
        const float2 both = to_floats(pair);
        sum += both.x * both.x + both.y * both.y;
    }
    return sum;
}

// The product is rounded once, at its end.
template <class Element>
__device__ __forceinline__ Pair<Element> scaled(Pair<Element> x, float scale, Pair<Element> gamma) {
    const float2 xs = to_floats(x), gammas = to_floats(gamma);
    return PairOf<Element>::from({xs.x * scale * gammas.x, xs.y * scale * gammas.y});
}

// 1 / the root of the mean square, for every thread of the block.
template <int THREADS>
__device__ __forceinline__ float scale_of_row(float squares_of_thread, uint32_t hidden, float (&sums)[THREADS / 32]) {
    return rsqrtf(__fdividef(harness::block_sum<THREADS>(squares_of_thread, sums), float(hidden)) + EPSILON);
}

// Any width and alignment.
template <int THREADS, class Element>
__device__ __forceinline__ void normalise_in_two_passes(const Element* in, const Element* gamma, Element* out, uint32_t hidden) {
    __shared__ float sums[THREADS / 32];
    float squares = 0;
    for (uint32_t i = threadIdx.x; i < hidden; i += THREADS) squares += float(in[i]) * float(in[i]);
    const float scale = scale_of_row<THREADS>(squares, hidden, sums);
    for (uint32_t i = threadIdx.x; i < hidden; i += THREADS) out[i] = Element(float(in[i]) * scale * float(gamma[i]));
}

// At most 8 * THREADS * VECTORS elements, a multiple of eight; `in`, `gamma` and `out` aligned to 16 bytes.
template <int THREADS, int VECTORS, class Element>
__device__ __forceinline__ void normalise_in_registers(const Element* in, const Element* gamma, Element* out, uint32_t hidden) {
    __shared__ float sums[THREADS / 32];
    const auto* from = reinterpret_cast<const uint4*>(in);
    const auto* weights = reinterpret_cast<const uint4*>(gamma);
    auto* to = reinterpret_cast<uint4*>(out);
    Eight<Element> x[VECTORS], weight[VECTORS];
#pragma unroll
    for (int k = 0; k < VECTORS; ++k) {
        const uint32_t i = threadIdx.x + k * THREADS;
        reinterpret_cast<uint4&>(x[k]) = i < hidden / 8 ? __ldcs(from + i) : uint4{};
    }
    // Asked for before the row is here: the L1 has it, and nobody waits for it later.
#pragma unroll
    for (int k = 0; k < VECTORS; ++k) {
        const uint32_t i = threadIdx.x + k * THREADS;
        reinterpret_cast<uint4&>(weight[k]) = i < hidden / 8 ? __ldg(weights + i) : uint4{};
    }
    float squares = 0;
#pragma unroll
    for (int k = 0; k < VECTORS; ++k) squares += sum_of_squares(x[k]);
    const float scale = scale_of_row<THREADS>(squares, hidden, sums);
#pragma unroll
    for (int k = 0; k < VECTORS; ++k) {
        const uint32_t i = threadIdx.x + k * THREADS;
#pragma unroll
        for (int p = 0; p < 4; ++p) x[k].pairs[p] = scaled<Element>(x[k].pairs[p], scale, weight[k].pairs[p]);
        if (i < hidden / 8) __stcs(to + i, reinterpret_cast<const uint4&>(x[k]));
    }
}

// Threads of a block and vectors of a thread, as types so that they are known to the compiler.
template <int THREADS_, int VECTORS_>
struct RowShape {
    static constexpr int THREADS = THREADS_, VECTORS = VECTORS_;
};

// Hands `use` the shape whose registers hold a row of this width; false when none does.
template <class Use>
bool with_row_shape(uint32_t hidden, Use use) {
    if (hidden <= 512) use(RowShape<32, 2>{});
    else if (hidden <= 2048) use(RowShape<128, 2>{});
    else if (hidden <= 4096) use(RowShape<256, 2>{});
    else if (hidden <= 8192) use(RowShape<512, 2>{});
    else if (hidden <= 16384) use(RowShape<512, 4>{});
    else if (hidden <= 32768) use(RowShape<1024, 4>{});
    else return false;
    return true;
}
