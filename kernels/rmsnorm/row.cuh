// RMSNorm of one row by one block: reading it twice, element by element, or once, by a bulk copy and 128 bits at a time.
// Rows are FP16 or BF16, statistics FP32. ../embedding-rmsnorm does the same to rows of a table.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

#include "../harness/bulk.cuh"
#include "../harness/failure.cuh"
#include "../harness/policy.cuh"
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

// 1 / the root of the mean square, for every thread of the block; whole warps, `sums` for no other purpose.
__device__ __forceinline__ float scale_of_row(float squares_of_thread, uint32_t hidden, float (&sums)[32]) {
    const unsigned lane = threadIdx.x % 32, warps = blockDim.x / 32;
    const float squares_of_warp = harness::warp_sum(squares_of_thread);
    if (lane == 0) sums[threadIdx.x / 32] = squares_of_warp;
    __syncthreads();
    // Each warp adds the partial sums for itself: no second barrier to hand the result around.
    const float squares = harness::warp_sum(lane < warps ? sums[lane] : 0.0f);
    return rsqrtf(__fdividef(squares, float(hidden)) + EPSILON);
}

// Any width and alignment.
template <class Element>
__device__ __forceinline__ void normalise_in_two_passes(const Element* in, const Element* gamma, Element* out, uint32_t hidden) {
    __shared__ float sums[32];
    float squares = 0;
    for (uint32_t i = threadIdx.x; i < hidden; i += blockDim.x) squares += float(in[i]) * float(in[i]);
    const float scale = scale_of_row(squares, hidden, sums);
    for (uint32_t i = threadIdx.x; i < hidden; i += blockDim.x) out[i] = Element(float(in[i]) * scale * float(gamma[i]));
}

// A multiple of eight elements, at most 8 * VECTORS a thread; `in`, `gamma` and `out` aligned to 16 bytes. The row arrives by
// one bulk copy in the block's dynamic shared memory, of `hidden` elements; GPUs before Hopper read it from where it is. A row
// that is KEPT asks the L2 to let it go last.
template <int VECTORS, bool KEPT = false, class Element>
__device__ __forceinline__ void normalise_at_once(const Element* in, const Element* gamma, Element* out, uint32_t hidden) {
    __shared__ float sums[32];
    const uint32_t vectors = hidden / 8;
    const auto* row = reinterpret_cast<const uint4*>(in);
    const auto* weights = reinterpret_cast<const uint4*>(gamma);
    auto* to = reinterpret_cast<uint4*>(out);
    Eight<Element> x[VECTORS], weight[VECTORS];
#ifdef HARNESS_BULK_COPIES
    extern __shared__ __align__(128) uint4 stage[];
    __shared__ harness::Delivery delivery;
    if (threadIdx.x == 0) {
        if constexpr (KEPT) delivery.fetch(stage, row, hidden * sizeof(Element), harness::leave_last());
        else delivery.fetch(stage, row, hidden * sizeof(Element));
    }
    __syncthreads();
#endif
    // Asked for before the row is here: nobody waits for it later.
#pragma unroll
    for (int k = 0; k < VECTORS; ++k) {
        const uint32_t i = threadIdx.x + k * blockDim.x;
        reinterpret_cast<uint4&>(weight[k]) = i < vectors ? __ldg(weights + i) : uint4{};
    }
#ifdef HARNESS_BULK_COPIES
    delivery.wait();
    row = stage;
#endif
    float squares = 0;
#pragma unroll
    for (int k = 0; k < VECTORS; ++k) {
        const uint32_t i = threadIdx.x + k * blockDim.x;
        reinterpret_cast<uint4&>(x[k]) = i < vectors ? row[i] : uint4{};
        squares += sum_of_squares(x[k]);
    }
    const float scale = scale_of_row(squares, hidden, sums);
#pragma unroll
    for (int k = 0; k < VECTORS; ++k) {
        const uint32_t i = threadIdx.x + k * blockDim.x;
#pragma unroll
        for (int p = 0; p < 4; ++p) x[k].pairs[p] = scaled<Element>(x[k].pairs[p], scale, weight[k].pairs[p]);
        if (i < vectors) to[i] = reinterpret_cast<const uint4&>(x[k]);
    }
}

// Threads of a row's block that have so many vectors each, in whole warps.
inline unsigned threads_of_row(uint32_t hidden, unsigned vectors) { return (hidden + 256 * vectors - 1) / (256 * vectors) * 32; }

// Whether a block may have so much shared memory besides its own; asks for it where it is more than a kernel has unasked.
template <class Kernel>
bool allow_shared(Kernel kernel, size_t bytes) {
    int device = 0, most = 0;
    CUDA_CHECK(cudaGetDevice(&device));
    CUDA_CHECK(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
    if (bytes + 1024 > size_t(most)) return false;
    if (bytes + 1024 > 48 * 1024) CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, int(bytes)));
    return true;
}
