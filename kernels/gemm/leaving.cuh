// Rungs 16 and 17, and a layer of a neural network (../epilogue): a tile of C on its way out, and what a block does. The sums of a tile
// wait in registers, packed to BF16, until a warp lays them down in shared memory, one box of 16 x 64 after the other, and the copy engine
// fetches them there.
#pragma once

#include "slabs.cuh"

constexpr int C_COLUMNS = ROW_BYTES / 2, C_BOXES = BN / C_COLUMNS, C_BOX_BYTES = 16 * ROW_BYTES;  // of a warp's boxes

constexpr int LEAVING_BYTES = RING_BYTES + CONSUMERS * 4 * 2 * C_BOX_BYTES + BARRIER_BYTES + 1024;  // of shared memory
static_assert(LEAVING_BYTES <= 227 * 1024, "a Hopper block has at most 227 KB of shared memory");

#if TARGET_HAS_WGMMA
// GELU(2 y), by tanh, as networks compute it and cublasLt does.
__device__ __forceinline__ float gelu_of_twice(float y) {
    float t;
    asm("tanh.approx.f32 %0, %1;" : "=f"(t) : "f"(y * (1.5957691f + 0.28541926f * y * y)));
    return y * t + y;
}

// A pair of columns, or zeros where `valid` has come to `past`. Branches around single loads would cost more than the loads.
__device__ __forceinline__ __nv_bfloat162 load_pair(const __nv_bfloat162* from, int valid, int past) {
    uint32_t pair;
    asm volatile("{\n.reg .pred there;\nsetp.gt.s32 there, %2, %3;\nmov.b32 %0, 0;\n@there ld.global.nc.b32 %0, [%1];\n}"
                 : "=r"(pair) : "l"(from), "r"(valid), "r"(past));
    return reinterpret_cast<const __nv_bfloat162&>(pair);
}

// 16 x 64 elements of C that a warp holds, sixteen pairs a lane, by way of a box in shared memory that is one of two taking turns. The eight
// rows that a warp writes at once hold 16 bytes each, in the swizzle's eight different pieces: every bank once. All but so many
// of the newest boxes have to have left: the one before the last one was in this place, or the last one, after a tile of an odd number of boxes.
template <int PENDING = 1>
__device__ __forceinline__ void send_box(const CUtensorMap* map, uint32_t to, const __nv_bfloat162* packed, int row, int col) {
    const int lane = threadIdx.x % 32;
    if (lane == 0) store_box_wait_read<PENDING>();
    __syncwarp();
#pragma unroll
    for (int pair = 0; pair < C_COLUMNS / 4; ++pair) {  // the upper or the lower 8 rows of 8 columns
        const int box_row = pair % 2 * 8 + lane / 4, piece = (pair / 2) ^ (box_row % 8);
        store_shared(to + box_row * ROW_BYTES + piece * 16 + lane % 4 * 4, packed[pair]);
    }
    fence_async();
    __syncwarp();
    if (lane == 0) {
        store_box(map, to, col, row);
        store_box_commit();
    }
}

template <int COLUMNS = BN>
struct LeavingTile {
    const CUtensorMap* c_map;
    __nv_bfloat162 packed[COLUMNS / 4];
    int row0 = 0, col0 = -1;  // of this warp's 16 rows; no column: nothing waits

    __device__ __forceinline__ explicit LeavingTile(const CUtensorMap* map) : c_map(map) {}

    __device__ __forceinline__ bool waits() const { return col0 >= 0; }

    // A layer's bias of this lane's columns, on its way into registers whose sums have left.
    __device__ __forceinline__ void fetch_bias(const __nv_bfloat16* bias, int col, int n) {
        const int valid = n - col;  // in blocks of eight columns: all or none
        const auto from = reinterpret_cast<const __nv_bfloat162*>(bias + col + threadIdx.x % 4 * 2);
#pragma unroll
        for (int j = 0; j < COLUMNS / 8; ++j) packed[COLUMNS / 8 + j] = load_pair(from + 4 * j, valid, 8 * j);
    }

    // Packs the sums, or GELU(sum + bias) of them. Eight columns at a time take the place of bias that was read before.
    template <bool LAYER>
    __device__ __forceinline__ void take(float (&sum)[COLUMNS / 2], int row, int col) {
        wgmma_settle(sum);
#pragma unroll
        for (int j = 0; j < COLUMNS / 8; ++j) {
            float2 bias;
            if (LAYER) bias = __bfloat1622float2(__hmul2(packed[COLUMNS / 8 + j], __float2bfloat162_rn(0.5f)));  // exact
#pragma unroll
            for (int i = 2 * j; i < 2 * j + 2; ++i)
                packed[i] = LAYER ? __floats2bfloat162_rn(gelu_of_twice(0.5f * sum[2 * i] + bias.x), gelu_of_twice(0.5f * sum[2 * i + 1] + bias.y))
                                  : __floats2bfloat162_rn(sum[2 * i], sum[2 * i + 1]);
        }
        row0 = row, col0 = col;
    }

    // By way of this warp's two boxes.
    __device__ __forceinline__ void send(uint32_t boxes, int box) const {
        if (COLUMNS / C_COLUMNS % 2 && box == 0) return send_box<0>(c_map, boxes, packed, row0, col0);
        send_box(c_map, boxes + box % 2 * C_BOX_BYTES, packed + box * C_COLUMNS / 4, row0, col0 + box * C_COLUMNS);
    }
};

// What a block does: the producer fetches, the consumers multiply, and send a tile of C away while they multiply the next one.
template <bool LAYER, class Element>
__device__ __forceinline__ void multiply(const Tiles<Element>& tiles, const CUtensorMap& a_map, const CUtensorMap& b_map,
                                         const CUtensorMap& c_map, const bf16* bias = nullptr) {
    extern __shared__ uint8_t shared[];
    const uint32_t slabs = (shared_address(shared) + 1023) & ~1023u, cs = slabs + RING_BYTES;
    Ring<Element> ring(slabs, cs + CONSUMERS * 4 * 2 * C_BOX_BYTES);
    if (threadIdx.x == 0) {
        ring.init();
        for (const CUtensorMap* map : {&a_map, &b_map, &c_map}) prefetch_map(map);
    }
    cluster_sync();
    if (threadIdx.x < 128) {
        give_registers<40>();
        if (threadIdx.x == 0) {
            tiles.each([&](int tile) {
                const int2 origin = tiles.origin(tile);
                for (int slab = 0; slab < tiles.slabs; ++slab) ring.fetch(a_map, b_map, tiles.rank, origin, slab);
            });
            ring.drain();
        }
    } else {
        take_registers<232>();
        const int consumer = threadIdx.x / 128 - 1, warp = threadIdx.x / 32 - 4, lane = threadIdx.x % 32;
        const uint32_t boxes = cs + warp * 2 * C_BOX_BYTES;
        LeavingTile<> leaving(&c_map);
        tiles.each([&](int tile) {
            float sum[128];
            for (int slab = 0; slab < tiles.slabs; ++slab) {
                ring.multiply(sum, consumer, slab > 0);
                if (leaving.waits() && slab < C_BOXES) {
#pragma unroll
                    for (int box = 0; box < C_BOXES; ++box)
                        if (slab == box) leaving.send(boxes, box);
                }
                if (LAYER && slab == C_BOXES) leaving.fetch_bias(bias, tiles.origin(tile).y, tiles.n);
                ring.release();
            }
#pragma unroll
            for (int box = 0; box < C_BOXES; ++box)  // k was too short for all boxes
                if (leaving.waits() && tiles.slabs <= box) leaving.send(boxes, box);
            if (LAYER && tiles.slabs <= C_BOXES) leaving.fetch_bias(bias, tiles.origin(tile).y, tiles.n);
            const int2 origin = tiles.origin(tile);
            leaving.take<LAYER>(sum, origin.x + warp * 16, origin.y);
        });
#pragma unroll
        for (int box = 0; box < C_BOXES; ++box) leaving.send(boxes, box);
        if (lane == 0) store_box_wait_read<0>();
    }
}
#endif
