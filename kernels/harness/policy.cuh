// Loads that ask the caches to keep the lines that they bring: sm_80 and later.
#pragma once

#include <cstdint>

namespace harness {

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
__device__ __forceinline__ uint64_t leave_last() {
    uint64_t policy;
    asm("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
    return policy;
}

__device__ __forceinline__ float load_to_keep(const float* from) {
    float v;
    asm volatile("ld.global.L1::evict_last.L2::cache_hint.f32 %0, [%1], %2;" : "=f"(v) : "l"(from), "l"(leave_last()));
    return v;
}
__device__ __forceinline__ float4 load_to_keep(const float4* from) {
    float4 v;
    asm volatile("ld.global.L1::evict_last.L2::cache_hint.v4.f32 {%0, %1, %2, %3}, [%4], %5;"
                 : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w) : "l"(from), "l"(leave_last()));
    return v;
}
__device__ __forceinline__ uint4 load_to_keep(const uint4* from) {
    uint4 v;
    asm volatile("ld.global.L1::evict_last.L2::cache_hint.v4.b32 {%0, %1, %2, %3}, [%4], %5;"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(from), "l"(leave_last()));
    return v;
}
#else
template <class Vector>
__device__ Vector load_to_keep(const Vector* from) { return *from; }
#endif

}  // namespace harness
