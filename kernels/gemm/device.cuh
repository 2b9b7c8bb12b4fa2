// What several rungs do on the device: bounds-checked tile access, the order of FMAs, asynchronous copies, tensor cores.
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

// Visits every (row, column) of a thread's tile in 4 x 4 blocks, down one column and up the next, so that consecutive
// FMAs share an operand register, which the operand reuse cache then supplies instead of a register bank.
template <int ROWS, int COLUMNS, class Visit>
__device__ __forceinline__ void walk_in_blocks(Visit visit) {
#pragma unroll
    for (int block_row = 0; block_row < ROWS / 4; ++block_row)
#pragma unroll
        for (int step = 0; step < COLUMNS / 4; ++step) {
            const int block_column = block_row % 2 ? COLUMNS / 4 - 1 - step : step;
#pragma unroll
            for (int x = 0; x < 4; ++x)
#pragma unroll
                for (int y = 0; y < 4; ++y) visit(block_row * 4 + (x % 2 ? 3 - y : y), block_column * 4 + x);
        }
}

// The same walk over the whole tile at once.
template <int ROWS, int COLUMNS, class Visit>
__device__ __forceinline__ void walk_in_columns(Visit visit) {
#pragma unroll
    for (int x = 0; x < COLUMNS; ++x)
#pragma unroll
        for (int y = 0; y < ROWS; ++y) visit(x % 2 ? ROWS - 1 - y : y, x);
}

// The same column ROWS rows further down, as one widening multiply-add: each row's address follows from the row above.
template <int ROWS>
__device__ __forceinline__ const float* rows_below(const float* at, int row_floats) {
    const float* below;
    asm("mad.wide.s32 %0, %1, %2, %3;" : "=l"(below) : "r"(row_floats), "n"(ROWS * 4), "l"(at));
    return below;
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

// Tensor cores through a warp: ldmatrix deals four 8 x 8 tiles of BF16 to the lanes as mma wants them.
template <bool TRANSPOSED>
__device__ __forceinline__ void load_matrix_4(uint32_t (&to)[4], uint32_t from) {
    if constexpr (TRANSPOSED)
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3]) : "r"(from) : "memory");
    else
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3]) : "r"(from) : "memory");
}

// sum (16 x 8, FP32) += a (16 x 16, BF16) * b (16 x 8, BF16), by one warp.
__device__ __forceinline__ void mma_16x8x16(float (&sum)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
                 "{%0, %1, %2, %3};"
                 : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

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

#else
#define TARGET_HAS_TMA 0
#endif

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

// How wgmma finds an operand in shared memory laid out in rows of 128 bytes with the 128-byte swizzle.
__device__ __forceinline__ uint64_t matrix_descriptor(uint32_t address, uint32_t leading_bytes, uint32_t stride_bytes) {
    constexpr uint64_t SWIZZLE_128B = 1ull << 62;
    return SWIZZLE_128B | (address & 0x3FFFF) >> 4 | uint64_t(leading_bytes >> 4) << 16 | uint64_t(stride_bytes >> 4) << 32;
}

#define F4(d, i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define F32(d, i) \
    F4(d, i), F4(d, i + 4), F4(d, i + 8), F4(d, i + 12), F4(d, i + 16), F4(d, i + 20), F4(d, i + 24), F4(d, i + 28)

// sum (64 x 256, FP32, spread over a warp group) = [sum +] a (64 x 16, k adjacent) * b (16 x 256, columns adjacent).
__device__ __forceinline__ void wgmma_64x256x16(float (&sum)[128], uint64_t a, uint64_t b, bool accumulate) {
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
#undef F4
#undef F32
#else
#define TARGET_HAS_WGMMA 0
#endif
