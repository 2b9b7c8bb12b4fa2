// A tile of C on its way out, for rungs 16 and 17: its sums wait in registers, packed to BF16, until a warp lays them down in
// shared memory, one box of 16 x 64 after the other, and the copy engine fetches them there.
#pragma once

#include "slabs.cuh"

constexpr int C_COLUMNS = ROW_BYTES / 2, C_BOXES = BN / C_COLUMNS, C_BOX_BYTES = 16 * ROW_BYTES;  // of a warp's boxes

#if TARGET_HAS_WGMMA
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
