// What several rungs do on the device: bounds-checked tile access and asynchronous copies.
// FULL says at compile time that the shape is a multiple of the tile, so every check below folds away and the
// full-tile kernel carries none of it. `valid` counts the elements from `at` to the end of its row, and is 0 or
// less outside the matrix; what lies outside reads as zero and is never written.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

template <bool FULL>
__device__ __forceinline__ float load_1(const float* at, int valid) {
    return FULL || valid > 0 ? *at : 0.0f;
}

// One 128-bit access; unaligned rows and ragged ends exist only where FULL is false, element by element.
template <bool FULL>
__device__ __forceinline__ float4 load_4(const float* at, int valid) {
    if constexpr (FULL) return *reinterpret_cast<const float4*>(at);
    return make_float4(load_1<false>(at, valid), load_1<false>(at + 1, valid - 1), load_1<false>(at + 2, valid - 2),
                       load_1<false>(at + 3, valid - 3));
}

template <bool FULL>
__device__ __forceinline__ void store_1(float* at, int valid, float value) {
    if (FULL || valid > 0) *at = value;
}

template <bool FULL>
__device__ __forceinline__ void store_4(float* at, int valid, float4 value) {
    if constexpr (FULL) {
        *reinterpret_cast<float4*>(at) = value;
        return;
    }
    store_1<false>(at, valid, value.x);
    store_1<false>(at + 1, valid - 1, value.y);
    store_1<false>(at + 2, valid - 2, value.z);
    store_1<false>(at + 3, valid - 3, value.w);
}

__device__ __forceinline__ uint32_t shared_address(const void* pointer) {
    return uint32_t(__cvta_generic_to_shared(pointer));
}

// cp.async: global to shared without a register in between; a source size of 0 writes zeros and reads nothing.
template <bool FULL>
__device__ __forceinline__ void copy_async_1(uint32_t to, const float* at, int valid) {
    if constexpr (FULL)
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to), "l"(at) : "memory");
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(to), "l"(at), "r"(valid > 0 ? 4 : 0) : "memory");
}

template <bool FULL>
__device__ __forceinline__ void copy_async_4(uint32_t to, const float* at, int valid) {
    if constexpr (FULL) {
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(at) : "memory");
    } else {
#pragma unroll
        for (int i = 0; i < 4; ++i) copy_async_1<false>(to + 4 * i, at + i, valid - i);
    }
}

__device__ __forceinline__ void copy_async_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }

// Waits until at most PENDING of this thread's newest groups are still under way.
template <int PENDING>
__device__ __forceinline__ void copy_async_wait() {
    asm volatile("cp.async.wait_group %0;" ::"n"(PENDING) : "memory");
}
