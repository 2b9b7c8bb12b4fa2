// What Hopper adds for rungs 10 and up: the tensor copy engine (TMA), barriers in shared memory that count what it
// delivers, and matrix instructions of a whole warp group (wgmma). Thin names for PTX, nothing more.
#pragma once

#include <cuda_bf16.h>

#include "device.cuh"

// The tensor copy engine (TMA) and the barriers in shared memory that count what it delivers: sm_90 and later.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
#define TARGET_HAS_TMA 1

__device__ __forceinline__ void barrier_init(uint32_t barrier, int arrivals) {
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}

// One arrival, and a promise that `bytes` more will be written before the phase may complete.
__device__ __forceinline__ void barrier_expect(uint32_t barrier, uint32_t bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}

// One arrival at the same barrier of the block with this rank in the cluster.
__device__ __forceinline__ void barrier_arrive_at(uint32_t barrier, uint32_t rank) {
    asm volatile("{\n.reg .b32 remote;\nmapa.shared::cluster.u32 remote, %0, %1;\n"
                 "mbarrier.arrive.shared::cluster.b64 _, [remote];\n}" ::"r"(barrier), "r"(rank) : "memory");
}

__device__ __forceinline__ void barrier_wait(uint32_t barrier, uint32_t parity) {
    asm volatile("{\n.reg .pred done;\nagain:\nmbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
                 "@!done bra again;\n}" ::"r"(barrier), "r"(parity) : "memory");
}

__device__ __forceinline__ uint32_t rank_in_cluster() {
    uint32_t rank;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}

__device__ __forceinline__ void cluster_sync() {
    asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}

__device__ __forceinline__ void prefetch_map(const void* map) {
    asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}

// The tensor copy engine fetches one box; what lies outside the matrix arrives as zeros and counts as bytes.
__device__ __forceinline__ void copy_box(uint32_t to, const void* map, uint32_t barrier, int x, int y) {
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];"
                 ::"r"(to), "l"(map), "r"(barrier), "r"(x), "r"(y) : "memory");
}

// The same box into the same place of every block in `ranks`, each of whose barriers counts the bytes.
__device__ __forceinline__ void copy_box_to_all(uint32_t to, const void* map, uint32_t barrier, int x, int y, uint16_t ranks) {
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster "
                 "[%0], [%1, {%3, %4}], [%2], %5;" ::"r"(to), "l"(map), "r"(barrier), "r"(x), "r"(y), "h"(ranks) : "memory");
}

// One box back to the matrix; what lies outside is not written. The issuing thread keeps the account of its own stores.
__device__ __forceinline__ void store_box(const void* map, uint32_t from, int x, int y) {
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%2, %3}], [%1];"
                 ::"l"(map), "r"(from), "r"(x), "r"(y) : "memory");
}
__device__ __forceinline__ void store_box_commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }

// Waits until at most PENDING of this thread's newest stores still read shared memory.
template <int PENDING>
__device__ __forceinline__ void store_box_wait_read() {
    asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(PENDING) : "memory");
}

// Orders this thread's writes to shared memory before what the copy engine and the tensor cores read there.
__device__ __forceinline__ void fence_async() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

#else
#define TARGET_HAS_TMA 0
#endif

// A barrier among two warps, by a number from 1 to 15.
__device__ __forceinline__ void sync_two_warps(int number) { asm volatile("bar.sync %0, 64;" ::"r"(number) : "memory"); }

__device__ __forceinline__ void barrier_arrive(uint32_t barrier) {
    asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(barrier) : "memory");
}

template <class T>
__device__ __forceinline__ T load_shared(uint32_t from);
template <>
__device__ __forceinline__ uint32_t load_shared(uint32_t from) {
    uint32_t value;
    asm volatile("ld.shared.b32 %0, [%1];" : "=r"(value) : "r"(from) : "memory");
    return value;
}
template <>
__device__ __forceinline__ uint4 load_shared(uint32_t from) {
    uint4 value;
    asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w) : "r"(from) : "memory");
    return value;
}
__device__ __forceinline__ void store_shared(uint32_t to, float value) {
    asm volatile("st.shared.f32 [%0], %1;" ::"r"(to), "f"(value) : "memory");
}
__device__ __forceinline__ void store_shared(uint32_t to, __nv_bfloat162 value) {
    asm volatile("st.shared.b32 [%0], %1;" ::"r"(to), "r"(reinterpret_cast<const uint32_t&>(value)) : "memory");
}
__device__ __forceinline__ void store_shared(uint32_t to, float2 value) {
    asm volatile("st.shared.v2.f32 [%0], {%1, %2};" ::"r"(to), "f"(value.x), "f"(value.y) : "memory");
}
__device__ __forceinline__ void store_shared(uint32_t to, float4 value) {
    asm volatile("st.shared.v4.f32 [%0], {%1, %2, %3, %4};"
                 ::"r"(to), "f"(value.x), "f"(value.y), "f"(value.z), "f"(value.w) : "memory");
}

// Matrix instructions of a whole warp group: sm_90a alone.
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define TARGET_HAS_WGMMA 1

template <int REGISTERS>
__device__ __forceinline__ void give_registers() {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(REGISTERS));
}
template <int REGISTERS>
__device__ __forceinline__ void take_registers() {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(REGISTERS));
}

__device__ __forceinline__ void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void wgmma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int PENDING>
__device__ __forceinline__ void wgmma_wait() {
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(PENDING) : "memory");
}

// Sums of finished wgmma, from here on: without this the compiler may move what reads them to before the wait.
template <int COUNT>
__device__ __forceinline__ void wgmma_settle(float (&sum)[COUNT]) {
#pragma unroll
    for (int i = 0; i < COUNT; ++i) asm volatile("" : "+f"(sum[i])::"memory");
}

// Operands in registers, which wgmma reads until it is waited for: up to here nothing else may move into them.
template <int STEPS>
__device__ __forceinline__ void wgmma_keep(uint32_t (&part)[STEPS][4]) {
#pragma unroll
    for (int i = 0; i < STEPS * 4; ++i) asm volatile("" : "+r"(part[i / 4][i % 4])::"memory");
}

// How wgmma finds an operand in shared memory laid out in rows of 128 bytes with the 128-byte swizzle.
__device__ __forceinline__ uint64_t matrix_descriptor(uint32_t address, uint32_t leading_bytes, uint32_t stride_bytes) {
    constexpr uint64_t SWIZZLE_128B = 1ull << 62;
    return SWIZZLE_128B | (address & 0x3FFFF) >> 4 | uint64_t(leading_bytes >> 4) << 16 | uint64_t(stride_bytes >> 4) << 32;
}

#define F4(d, i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define F16(d, i) F4(d, i), F4(d, i + 4), F4(d, i + 8), F4(d, i + 12)
#define F32(d, i) F16(d, i), F16(d, i + 16)

// sum (64 x 256, FP32, spread over a warp group) = [sum +] a (64 x 16, k adjacent) * b (16 x 256, columns adjacent).
__device__ __forceinline__ void wgmma_64_rows(float (&sum)[128], uint64_t a, uint64_t b, bool accumulate) {
    asm volatile(
        "{\n.reg .pred add;\nsetp.ne.b32 add, %130, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 {"
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, "
        "%24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, "
        "%46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, %64, %65, %66, %67, "
        "%68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, "
        "%90, %91, %92, %93, %94, %95, %96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, "
        "%110, %111, %112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"
        "}, %128, %129, add, 1, 1, 0, 1;\n}"
        : F32(sum, 0), F32(sum, 32), F32(sum, 64), F32(sum, 96)
        : "l"(a), "l"(b), "r"(int(accumulate)));
}
// Half of the columns.
__device__ __forceinline__ void wgmma_64_rows(float (&sum)[64], uint64_t a, uint64_t b, bool accumulate) {
    asm volatile(
        "{\n.reg .pred add;\nsetp.ne.b32 add, %66, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {"
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, "
        "%24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
        "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
        "}, %64, %65, add, 1, 1, 0, 1;\n}"
        : F32(sum, 0), F32(sum, 32)
        : "l"(a), "l"(b), "r"(int(accumulate)));
}
// Three quarters of the columns.
__device__ __forceinline__ void wgmma_64_rows(float (&sum)[96], uint64_t a, uint64_t b, bool accumulate) {
    asm volatile(
        "{\n.reg .pred add;\nsetp.ne.b32 add, %98, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n192k16.f32.bf16.bf16 {"
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, "
        "%24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
        "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, %64, %65, %66, %67, %68, %69, %70, %71, "
        "%72, %73, %74, %75, %76, %77, %78, %79, %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95"
        "}, %96, %97, add, 1, 1, 0, 1;\n}"
        : F32(sum, 0), F32(sum, 32), F32(sum, 64)
        : "l"(a), "l"(b), "r"(int(accumulate)));
}
// 240 of the columns: the last eight sums stay as they are.
__device__ __forceinline__ void wgmma_64_rows_of_240(float (&sum)[128], uint64_t a, uint64_t b, bool accumulate) {
    asm volatile(
        "{\n.reg .pred add;\nsetp.ne.b32 add, %122, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n240k16.f32.bf16.bf16 {"
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, "
        "%24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
        "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, %64, %65, %66, %67, %68, %69, %70, %71, "
        "%72, %73, %74, %75, %76, %77, %78, %79, %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, "
        "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, %112, %113, %114, %115, %116, %117, %118, %119"
        "}, %120, %121, add, 1, 1, 0, 1;\n}"
        : F32(sum, 0), F32(sum, 32), F32(sum, 64), F16(sum, 96), F4(sum, 112), F4(sum, 116)
        : "l"(a), "l"(b), "r"(int(accumulate)));
}
// 320 columns, as 192 and 128: a wgmma has at most 256.
__device__ __forceinline__ void wgmma_64_rows(float (&sum)[160], uint64_t a, uint64_t b, bool accumulate) {
    constexpr int BOX_BYTES = 64 * 128;  // of 64 columns of B
    asm volatile(
        "{\n.reg .pred add;\nsetp.ne.b32 add, %98, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n192k16.f32.bf16.bf16 {"
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, "
        "%24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
        "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, %64, %65, %66, %67, %68, %69, %70, %71, "
        "%72, %73, %74, %75, %76, %77, %78, %79, %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95"
        "}, %96, %97, add, 1, 1, 0, 1;\n}"
        : F32(sum, 0), F32(sum, 32), F32(sum, 64)
        : "l"(a), "l"(b), "r"(int(accumulate)));
    asm volatile(
        "{\n.reg .pred add;\nsetp.ne.b32 add, %66, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {"
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, "
        "%24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
        "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
        "}, %64, %65, add, 1, 1, 0, 1;\n}"
        : F32(sum, 96), F32(sum, 128)
        : "l"(a), "l"(b + (3 * BOX_BYTES >> 4)), "r"(int(accumulate)));
}
// sum (64 x 256, FP32) = [sum +] a (64 x 32, E4M3) * b (32 x 256, E4M3), both with k adjacent.
__device__ __forceinline__ void wgmma_64x256x32(float (&sum)[128], uint64_t a, uint64_t b, bool accumulate) {
    asm volatile(
        "{\n.reg .pred add;\nsetp.ne.b32 add, %130, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n256k32.f32.e4m3.e4m3 {"
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, "
        "%24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, "
        "%46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, %64, %65, %66, %67, "
        "%68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, "
        "%90, %91, %92, %93, %94, %95, %96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, "
        "%110, %111, %112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"
        "}, %128, %129, add, 1, 1;\n}"
        : F32(sum, 0), F32(sum, 32), F32(sum, 64), F32(sum, 96)
        : "l"(a), "l"(b), "r"(int(accumulate)));
}

// sum (64 rows, two columns for each register, FP32) = [sum +] a (64 x 8, TF32, from registers) * b (8 x 256, TF32, k adjacent). The tensor cores read FP32
// and leave out the 13 lowest bits.
__device__ __forceinline__ void wgmma_64_rows(float (&sum)[128], const uint32_t (&a)[4], uint64_t b, bool accumulate) {
    asm volatile(
        "{\n.reg .pred add;\nsetp.ne.b32 add, %133, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n256k8.f32.tf32.tf32 {"
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, "
        "%24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
        "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, %64, %65, %66, %67, %68, %69, %70, %71, "
        "%72, %73, %74, %75, %76, %77, %78, %79, %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, "
        "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, %112, %113, %114, %115, %116, %117, %118, %119, "
        "%120, %121, %122, %123, %124, %125, %126, %127"
        "}, {%128, %129, %130, %131}, %132, add, 1, 1;\n}"
        : F32(sum, 0), F32(sum, 32), F32(sum, 64), F32(sum, 96)
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(int(accumulate)));
}

// 240 of the rows of A: the last eight sums stay as they are.
__device__ __forceinline__ void wgmma_64_rows_of_240(float (&sum)[128], const uint32_t (&a)[4], uint64_t b, bool accumulate) {
    asm volatile(
        "{\n.reg .pred add;\nsetp.ne.b32 add, %125, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n240k8.f32.tf32.tf32 {"
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, "
        "%24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
        "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, %64, %65, %66, %67, %68, %69, %70, %71, "
        "%72, %73, %74, %75, %76, %77, %78, %79, %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, "
        "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, %112, %113, %114, %115, %116, %117, %118, %119"
        "}, {%120, %121, %122, %123}, %124, add, 1, 1;\n}"
        : F32(sum, 0), F32(sum, 32), F32(sum, 64), F16(sum, 96), F4(sum, 112), F4(sum, 116)
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(int(accumulate)));
}
// 224, 192 or 128 of the rows of A: two for each register of `sum`.
__device__ __forceinline__ void wgmma_64_rows(float (&sum)[112], const uint32_t (&a)[4], uint64_t b, bool accumulate) {
    asm volatile(
        "{\n.reg .pred add;\nsetp.ne.b32 add, %117, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n224k8.f32.tf32.tf32 {"
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, "
        "%24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
        "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, %64, %65, %66, %67, %68, %69, %70, %71, "
        "%72, %73, %74, %75, %76, %77, %78, %79, %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, "
        "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111"
        "}, {%112, %113, %114, %115}, %116, add, 1, 1;\n}"
        : F32(sum, 0), F32(sum, 32), F32(sum, 64), F16(sum, 96)
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(int(accumulate)));
}
__device__ __forceinline__ void wgmma_64_rows(float (&sum)[96], const uint32_t (&a)[4], uint64_t b, bool accumulate) {
    asm volatile(
        "{\n.reg .pred add;\nsetp.ne.b32 add, %101, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n192k8.f32.tf32.tf32 {"
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, "
        "%24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
        "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, %64, %65, %66, %67, %68, %69, %70, %71, "
        "%72, %73, %74, %75, %76, %77, %78, %79, %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95"
        "}, {%96, %97, %98, %99}, %100, add, 1, 1;\n}"
        : F32(sum, 0), F32(sum, 32), F32(sum, 64)
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(int(accumulate)));
}
__device__ __forceinline__ void wgmma_64_rows(float (&sum)[64], const uint32_t (&a)[4], uint64_t b, bool accumulate) {
    asm volatile(
        "{\n.reg .pred add;\nsetp.ne.b32 add, %69, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n128k8.f32.tf32.tf32 {"
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, "
        "%24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
        "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
        "}, {%64, %65, %66, %67}, %68, add, 1, 1;\n}"
        : F32(sum, 0), F32(sum, 32)
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(int(accumulate)));
}
#undef F4
#undef F16
#undef F32
#else
#define TARGET_HAS_WGMMA 0
#endif
