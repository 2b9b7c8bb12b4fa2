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

// Four adjacent elements, of shared memory as a rule, by one access.
__device__ __forceinline__ void read_4(float* to, const float* from) {
    const float4 part = *reinterpret_cast<const float4*>(from);
    to[0] = part.x, to[1] = part.y, to[2] = part.z, to[3] = part.w;
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

// The same walk over the columns of the whole tile.
template <int ROWS, int COLUMNS, class Visit>
__device__ __forceinline__ void walk_in_columns(Visit visit) {
#pragma unroll
    for (int x = 0; x < COLUMNS; ++x)
#pragma unroll
        for (int y = 0; y < ROWS; ++y) visit(x % 2 ? ROWS - 1 - y : y, x);
}

// And over its rows.
template <int ROWS, int COLUMNS, class Visit>
__device__ __forceinline__ void walk_in_rows(Visit visit) {
#pragma unroll
    for (int y = 0; y < ROWS; ++y)
#pragma unroll
        for (int x = 0; x < COLUMNS; ++x) visit(y, y % 2 ? COLUMNS - 1 - x : x);
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
