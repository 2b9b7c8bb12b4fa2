// Rung 21: tiles that several clusters share along k. What each of them has added up goes through the L2, and each adds up an equal part of the
// tile's elements, always in the same order.
#pragma once

#include "slabs.cuh"

// Each of the first `tiles` tiles is shared by `sharers` clusters.
struct ClusterShares {
    int tiles = 0, sharers = 1;
    float4* sums = nullptr;       // a tile for each cluster
    uint32_t* arrived = nullptr;  // for each block of a shared tile: how many sharers have stored their sums
    uint32_t* done = nullptr;     // and how many have read those of all
};

// Slabs of a tile, from one up to another.
struct Piece {
    int tile, from, to;
    bool shared;
};

#if TARGET_HAS_WGMMA
// The pieces of this block's cluster, one after the other: its part of a shared tile, if it has one, then whole tiles.
template <class T, class Visit>
__device__ __forceinline__ void each_piece(const Tiles<bf16, T>& tiles, const ClusterShares& shares, Visit visit) {
    const int all = tiles.tiles_m * tiles.tiles_n;
    bool shared = tiles.cluster < shares.tiles * shares.sharers;
    for (int tile = shared ? tiles.cluster / shares.sharers : shares.tiles + tiles.cluster; tile < all;) {
        Piece piece{tile, 0, tiles.slabs, shared};
        if (shared) {  // the first parts have one slab more, where parts cannot be equal
            const int part = tiles.cluster % shares.sharers, least = tiles.slabs / shares.sharers, more = tiles.slabs % shares.sharers;
            piece.from = part * least + min(part, more);
            piece.to = piece.from + least + (part < more);
        }
        visit(piece);
        tile = shared ? shares.tiles + tiles.cluster : tile + tiles.clusters;
        shared = false;
    }
}

// What the consumers of a block do with their part of a shared tile.
template <class T>
struct SharedTile {
    static constexpr int WARPS = 4 * T::CONSUMERS, FOURS = T::BN / 8;  // a lane holds four elements of 16 rows and 8 columns
    static constexpr int TILE = FOURS * WARPS * 32;
    const Tiles<bf16, T>& tiles;
    const ClusterShares& shares;
    const int warp = threadIdx.x / 32 - 4, lane = threadIdx.x % 32;
    const int tile = tiles.cluster / shares.sharers, part = tiles.cluster % shares.sharers;
    uint32_t* const arrived = shares.arrived + tile * T::CLUSTER + tiles.rank;

    __device__ __forceinline__ SharedTile(const Tiles<bf16, T>& tiles_, const ClusterShares& shares_) : tiles(tiles_), shares(shares_) {}

    __device__ __forceinline__ static void sync_consumers() { asm volatile("bar.sync 1, %0;" ::"n"(T::CONSUMERS * 128) : "memory"); }
    __device__ __forceinline__ static bool speaks() { return threadIdx.x == 128; }  // for all consumers

    __device__ __forceinline__ float4* sums_of(int cluster) const {
        return shares.sums + (size_t(cluster) * T::CLUSTER + tiles.rank) * TILE + warp * 32 + lane;
    }

    // Whether this warp has no rows of C.
    __device__ __forceinline__ bool is_outside() const { return tiles.origin(tile).x + warp * 16 >= tiles.m; }

    __device__ __forceinline__ void store(const float (&sum)[T::BN / 2]) const {
        float4* const to = sums_of(tiles.cluster);
#pragma unroll
        for (int four = 0; four < FOURS && !is_outside(); ++four)
            __stcg(to + four * WARPS * 32, make_float4(sum[4 * four], sum[4 * four + 1], sum[4 * four + 2], sum[4 * four + 3]));
        sync_consumers();
        if (speaks())
            asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(arrived) : "memory");
    }

    // Waits for the sums of all sharers, and stores this one's part of C.
    __device__ __forceinline__ void add_up(bf16* c) const {
        if (speaks()) {
            uint32_t seen;
            do asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(arrived) : "memory");
            while (seen < shares.sharers);
        }
        sync_consumers();
        if (!is_outside()) {
            if (shares.sharers < FOURS) add_up<4, 4>(c);
            else add_up<1, 16>(c);
        }
        sync_consumers();
        // The last to have read resets both counts for the next launch: atomicInc wraps around.
        if (speaks() && atomicInc(shares.done + tile * T::CLUSTER + tiles.rank, shares.sharers - 1) == shares.sharers - 1) *arrived = 0;
    }

  private:
    // Every so many-th four of each lane. Sixteen loads are under way: so many fours, of so many sharers.
    template <int AT_ONCE, int SHARERS_AT_ONCE>
    __device__ __forceinline__ void add_up(bf16* c) const {
        const int2 origin = tiles.origin(tile);
        const int row = origin.x + warp * 16 + lane / 4, col0 = origin.y + lane % 4 * 2;
        const float4* const from = sums_of(tile * shares.sharers);
        for (int first = part; first < FOURS; first += shares.sharers * AT_ONCE) {
            float4 sum[AT_ONCE];
#pragma unroll
            for (int i = 0; i < AT_ONCE; ++i) sum[i] = make_float4(0, 0, 0, 0);
#pragma unroll SHARERS_AT_ONCE
            for (int sharer = 0; sharer < shares.sharers; ++sharer)
#pragma unroll
                for (int i = 0; i < AT_ONCE; ++i) {
                    const int four = first + i * shares.sharers;
                    if (four >= FOURS) continue;
                    const float4 more = __ldcg(from + size_t(sharer) * (T::CLUSTER * TILE) + four * WARPS * 32);
                    sum[i].x += more.x, sum[i].y += more.y, sum[i].z += more.z, sum[i].w += more.w;
                }
#pragma unroll
            for (int i = 0; i < AT_ONCE; ++i) {
                const int four = first + i * shares.sharers, col = col0 + four * 8;
                if (four >= FOURS || col >= tiles.n) continue;
                if (row < tiles.m) store_pair(c, row, col, sum[i].x, sum[i].y);
                if (row + 8 < tiles.m) store_pair(c, row + 8, col, sum[i].z, sum[i].w);
            }
        }
    }

    __device__ __forceinline__ void store_pair(bf16* c, int row, int col, float x, float y) const {
        *reinterpret_cast<__nv_bfloat162*>(c + size_t(row) * tiles.n + col) = __floats2bfloat162_rn(x, y);
    }
};
#endif
