// A tile of C on its way out, for rungs 16 and 17: its sums wait in registers, packed to BF16, until a warp lays them down in
// shared memory, one box of 16 x 64 after the other, and the copy engine fetches them there.
#pragma once

#include "slabs.cuh"

constexpr int C_COLUMNS = ROW_BYTES / 2, C_BOXES = BN / C_COLUMNS, C_BOX_BYTES = 16 * ROW_BYTES;  // of a warp's boxes

#if TARGET_HAS_WGMMA
// By tanh, as networks compute it and cublasLt does.
__device__ __forceinline__ float gelu(float x) {
    float t;
    asm("tanh.approx.f32 %0, %1;" : "=f"(t) : "f"(x * (0.79788456f + 0.035677408f * x * x)));
#ifdef NOGELU
    return x;
#endif
    return 0.5f * x * t + 0.5f * x;
}

struct LeavingTile {
    const CUtensorMap* c_map;
    __nv_bfloat162 packed[BN / 4];
    int row0 = 0, col0 = -1;  // of this warp's 16 rows; no column: nothing waits

    __device__ __forceinline__ explicit LeavingTile(const CUtensorMap* map) : c_map(map) {}

    __device__ __forceinline__ bool waits() const { return col0 >= 0; }

    __device__ __forceinline__ void take(float (&sum)[128], int row, int col) {
        wgmma_settle(sum);
#pragma unroll
        for (int i = 0; i < BN / 4; ++i) packed[i] = __floats2bfloat162_rn(sum[2 * i], sum[2 * i + 1]);
        row0 = row, col0 = col;
    }

    // A layer's bias of this lane's columns, on its way into registers whose sums have left.
    __device__ __forceinline__ void fetch_bias(const __nv_bfloat16* bias, int col, int n) {
        const int first = col + threadIdx.x % 4 * 2, valid = n - first;
        const auto from = reinterpret_cast<const __nv_bfloat162*>(bias + first);
#pragma unroll
        for (int j = 0; j < BN / 8; ++j) packed[BN / 8 + j] = 8 * j < valid ? from[4 * j] : __nv_bfloat162{};
    }

    template <int HALF>
    __device__ __forceinline__ void take_half(float (&sum)[64]) {
        wgmma_settle(sum);
#pragma unroll
        for (int j = 0; j < BN / 16; ++j) {
            const float2 bias = __bfloat1622float2(packed[BN / 8 + HALF * BN / 16 + j]);
#pragma unroll
            for (int i = 2 * j; i < 2 * j + 2; ++i)
                packed[HALF * BN / 8 + i] = __floats2bfloat162_rn(gelu(sum[2 * i] + bias.x), gelu(sum[2 * i + 1] + bias.y));
        }
    }

    // As take, of GELU(sum + bias). Eight columns of sums take the place of bias that was read before.
    __device__ __forceinline__ void take_activated(float (&sum)[128], int row, int col) {
        wgmma_settle(sum);
#pragma unroll
        for (int j = 0; j < BN / 8; ++j) {
            const float2 bias = __bfloat1622float2(packed[BN / 8 + j]);
#pragma unroll
            for (int i = 2 * j; i < 2 * j + 2; ++i)
                packed[i] = __floats2bfloat162_rn(gelu(sum[2 * i] + bias.x), gelu(sum[2 * i + 1] + bias.y));
        }
        row0 = row, col0 = col;
    }

    // By way of this warp's two boxes in shared memory, taking turns. The eight rows that a warp writes at once hold 16 bytes each, in
    // the swizzle's eight different pieces: every bank once.
    __device__ __forceinline__ void send(uint32_t boxes, int box) const {
        const int lane = threadIdx.x % 32;
        const uint32_t to = boxes + box % 2 * C_BOX_BYTES;
        if (lane == 0) store_box_wait_read<1>();  // the box before the last one has left this place
        __syncwarp();
#pragma unroll
        for (int pair = 0; pair < C_COLUMNS / 4; ++pair) {  // the upper or the lower 8 rows of 8 columns
            const int row = pair % 2 * 8 + lane / 4, piece = (pair / 2) ^ (row % 8);
            store_shared(to + row * ROW_BYTES + piece * 16 + lane % 4 * 4, packed[box * C_COLUMNS / 4 + pair]);
        }
        fence_async();
        __syncwarp();
        if (lane == 0) {
            store_box(c_map, to, col0 + box * C_COLUMNS, row0);
            store_box_commit();
        }
    }
};
#endif
