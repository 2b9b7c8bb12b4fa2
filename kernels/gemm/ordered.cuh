// Rungs 18 and 20: what keeps FMAs in the order that is written, with operands in banks of registers that differ.
#pragma once

#include "device.cuh"

// A read that the compiler's back end leaves where it is.
__device__ __forceinline__ float4 read_shared(uint32_t from) {
    float4 four;
    asm volatile("ld.volatile.shared.v4.f32 {%0, %1, %2, %3}, [%4];" : "=f"(four.x), "=f"(four.y), "=f"(four.z), "=f"(four.w) : "r"(from));
    return four;
}
__device__ __forceinline__ void write_shared(uint32_t to, float4 four) {
    asm volatile("st.shared.v4.f32 [%0], {%1, %2, %3, %4};" ::"r"(to), "f"(four.x), "f"(four.y), "f"(four.z), "f"(four.w) : "memory");
}
__device__ __forceinline__ float part_of(const float4& four, int i) {
    return i == 0 ? four.x : i == 1 ? four.y : i == 2 ? four.z : four.w;
}

// The thread's number, read here and now: what follows from it takes no registers before.
__device__ __forceinline__ int thread_anew() {
    int thread;
    asm volatile("mov.u32 %0, %%tid.x;" : "=r"(thread));
    return thread;
}
