// Rungs 21 and 22: kinds of tiles, the kernel that multiplies them and lets clusters share those of the last wave (cluster_shares.cuh), and what each kind takes.
#pragma once

#include <cmath>

#include "leaving.cuh"
#include "cluster_shares.cuh"

using Product = harness::Gemm<bf16, bf16>;
using Broad = Tile<2, 320, 3>;
using Medium = Tile<2, 192, 4>;
using Middle = Tile<2, 128, 6>;
using Low = Tile<1, 256, 5>;
using Small = Tile<1, 128, 8>;
using Lone = Tile<1, 128, 8, 1>;
template <class T>
constexpr int SHARED_BYTES = T::RING_BYTES + T::CONSUMERS * 4 * 2 * C_BOX_BYTES + T::BARRIER_BYTES + 1024;
template <class... T>
constexpr bool fit = ((SHARED_BYTES<T> <= 227 * 1024) && ...);
static_assert(fit<Large, Broad, Medium, Middle, Low, Small, Lone>, "a Hopper block has at most 227 KB of shared memory");

template <class T>
__global__ void __launch_bounds__(T::THREADS, 1)
gemm_by_shape(int m, int n, int k, const __grid_constant__ CUtensorMap a_map, const __grid_constant__ CUtensorMap b_map,
              const __grid_constant__ CUtensorMap c_map, bf16* c, const __grid_constant__ ClusterShares shares) {
#if TARGET_HAS_WGMMA
    // The sums of a large tile fill most registers: its producer gives some away, and a consumer has one slab's products under way, not two.
    constexpr bool LARGE = T::CONSUMERS * T::BN >= 384, LEAVES_LATER = T::BN <= 256;
    constexpr int BOXES = T::BN / C_COLUMNS;
    extern __shared__ uint8_t shared[];
    const uint32_t slabs = (shared_address(shared) + 1023) & ~1023u, cs = slabs + T::RING_BYTES;
    const Tiles<bf16, T> tiles{m, n, k};
    Ring<bf16, T> ring(slabs, cs + T::CONSUMERS * 4 * 2 * C_BOX_BYTES);
    if (threadIdx.x == 0) {
        ring.init();
        for (const CUtensorMap* map : {&a_map, &b_map, &c_map}) prefetch_map(map);
    }
    cluster_sync();
    if (threadIdx.x < 128) {
        if constexpr (LARGE) give_registers<40>();
        if (threadIdx.x == 0) {
            each_piece(tiles, shares, [&](const Piece& piece) {
                const int2 origin = tiles.origin(piece.tile);
                for (int slab = piece.from; slab < piece.to; ++slab) ring.fetch(a_map, b_map, tiles.rank, origin, slab);
            });
            ring.drain();
        }
    } else {
        if constexpr (LARGE) take_registers<232>();
        const int consumer = threadIdx.x / 128 - 1, warp = threadIdx.x / 32 - 4;
        const uint32_t boxes = cs + warp * 2 * C_BOX_BYTES;
        LeavingTile<LEAVES_LATER ? T::BN : C_COLUMNS> leaving(&c_map);
        each_piece(tiles, shares, [&](const Piece& piece) {
            const int count = piece.to - piece.from;
            float sum[T::BN / 2];
            const auto send = [&](int slab) {
                if constexpr (LEAVES_LATER) {
                    if (!leaving.waits() || slab >= BOXES) return;
#pragma unroll
                    for (int box = 0; box < BOXES; ++box)
                        if (slab == box) leaving.send(boxes, box);
                }
            };
            if constexpr (LARGE) {
                for (int slab = 0; slab < count; ++slab) {
                    ring.multiply(sum, consumer, slab > 0);
                    send(slab);
                    ring.release();
                }
            } else {
                ring.multiply(sum, consumer, false);
                send(0);
                for (int slab = 1; slab < count; ++slab) {
                    ring.multiply_next(sum, consumer);
                    send(slab);
                }
                ring.release();
            }
            if constexpr (LEAVES_LATER) {
#pragma unroll
                for (int box = 0; box < BOXES; ++box)  // k was too short for all boxes
                    if (leaving.waits() && count <= box) leaving.send(boxes, box);
            }
            const int2 origin = tiles.origin(piece.tile);
            const int row = origin.x + warp * 16;
            if (piece.shared) {
                wgmma_settle(sum);
                SharedTile<T>(tiles, shares).store(sum);
            } else if constexpr (LEAVES_LATER) {
                leaving.template take<false>(sum, row, origin.y);
            } else {
                wgmma_settle(sum);
#pragma unroll
                for (int box = 0; box < BOXES; ++box) {
                    __nv_bfloat162 packed[C_COLUMNS / 4];
#pragma unroll
                    for (int pair = 0; pair < C_COLUMNS / 4; ++pair) {
                        const int at = box * C_COLUMNS / 2 + pair * 2;
                        packed[pair] = __floats2bfloat162_rn(sum[at], sum[at + 1]);
                    }
                    const uint32_t to = boxes + box % 2 * C_BOX_BYTES;
                    if (BOXES % 2 && box == 0) send_box<0>(&c_map, to, packed, row, origin.y);
                    else send_box(&c_map, to, packed, row, origin.y + box * C_COLUMNS);
                }
            }
        });
        if constexpr (LEAVES_LATER) {
#pragma unroll
            for (int box = 0; box < BOXES; ++box)
                if (leaving.waits()) leaving.send(boxes, box);
        }
        if (tiles.cluster < shares.tiles * shares.sharers) SharedTile<T>(tiles, shares).add_up(c);
        if (threadIdx.x % 32 == 0) store_box_wait_read<0>();
    }
#endif
}

// Large tiles of which none is shared, as in rung 16.
__global__ void __launch_bounds__(THREADS, 1)
gemm_by_shape_large(int m, int n, int k, const __grid_constant__ CUtensorMap a_map, const __grid_constant__ CUtensorMap b_map,
                    const __grid_constant__ CUtensorMap c_map) {
#if TARGET_HAS_WGMMA
    multiply<false>(Tiles<bf16>{m, n, k}, a_map, b_map, c_map);
#endif
}

template <class T>
int clusters_at_once() {
    static const int clusters = PersistentLaunch(gemm_by_shape<T>, T::CLUSTER, T::THREADS, SHARED_BYTES<T>).clusters_at_once;
    return clusters;
}

template <class T>
int64_t cluster_tiles(const Product& g) {
    return int64_t(harness::tiles(g.m, T::CLUSTER * T::BM)) * harness::tiles(g.n, T::BN);
}

// By so many clusters for each tile of the last wave.
template <class T>
void launch_with(const Product& g, int sharers) {
    const int at_once = clusters_at_once<T>(), blocks = at_once * T::CLUSTER;
    const int64_t tiles = cluster_tiles<T>(g);
    ClusterShares shares;
    if (sharers > 1) {
        static const harness::DeviceBuffer<float4> sums(size_t(blocks) * T::BM * T::BN / 4);
        static harness::DeviceBuffer<uint32_t> counts(blocks * 2);
        static const bool cleared = (counts.fill_bytes(0), true);
        shares = {int(tiles % at_once), cleared ? sharers : 1, sums.data(), counts.data(), counts.data() + blocks};
    }
    // Rows that start anywhere in a line: what lies beside a box is fetched for nothing.
    const bool aligned = g.n % 64 == 0 && g.k % 64 == 0;
    const CUtensorMapL2promotion promotion = aligned ? CU_TENSOR_MAP_L2_PROMOTION_L2_256B : CU_TENSOR_MAP_L2_PROMOTION_L2_64B;
    if constexpr (std::is_same_v<T, Large>) {
        if (sharers == 1)
            return launch_persistent(gemm_by_shape_large, CLUSTER, THREADS, LEAVING_BYTES, tiles, g.m, g.n, g.k, map_of_a(g, promotion), map_of_b(g, promotion),
                                     harness::tensor_map(g.c, g.m, g.n, 16, C_COLUMNS, CU_TENSOR_MAP_SWIZZLE_128B));
    }
    launch_persistent(gemm_by_shape<T>, T::CLUSTER, T::THREADS, SHARED_BYTES<T>, std::max<int64_t>(tiles, shares.tiles * sharers), g.m, g.n, g.k,
                      map_of_a<T>(g, promotion), map_of_b<T>(g, promotion),
                      harness::tensor_map(g.c, g.m, g.n, 16, C_COLUMNS, CU_TENSOR_MAP_SWIZZLE_128B), g.c, shares);
}

// What a tile of a kind takes, in cycles: a slab, and each tile besides. Measured in turns on an H200 at sizes where all clusters are busy (NOTES.md, step 40);
// a product in a smaller tile takes longer, since the L2 hands out more for it. Rows that start within a sector of 32 bytes cost a quarter more sectors: `astray` is
// what that adds if both operands have such rows.
struct Cost {
    double slab, tile, astray;
};
template <class T>
constexpr Cost COST;
template <>
constexpr Cost COST<Large> = {1050, 250, 0.12};
template <>
constexpr Cost COST<Broad> = {1290, 1500, 0.04};
template <>
constexpr Cost COST<Medium> = {790, 600, 0.22};
template <>
constexpr Cost COST<Middle> = {540, 1000, 0.38};
template <>
constexpr Cost COST<Low> = {550, 1750, 0.3};
template <>
constexpr Cost COST<Small> = {345, 1000, 0.5};
template <>
constexpr Cost COST<Lone> = {505, 1000, 0.8};

inline int astray_operands(const Product& g) { return (g.k % 16 != 0) + (g.n % 16 != 0); }

// The kind that takes least of those offered, by so many clusters for each tile of the last wave.
struct Choice {
    double cycles = 1e300;
    int sharers = 1;
    void (*launch)(const Product&, int) = nullptr;

    // The busiest cluster has `most` tiles; besides them it takes so many cycles `more`. While some clusters have nothing left, the clock of the others is
    // higher, as power binds: the time is between what the busiest and what the average cluster would take.
    template <class T>
    void offer(const Product& g, double most, double more, int sharers_, void (*launch_)(const Product&, int)) {
        const double mean = double(cluster_tiles<T>(g)) / clusters_at_once<T>();
        const int astray = astray_operands(g);
        const double slab = COST<T>.slab * (1 + COST<T>.astray * (astray == 2 ? 1.0 : astray / 3.0));
        const double takes = (most + mean) / 2 * harness::tiles(g.k, BK<bf16>) * slab + std::ceil(most) * COST<T>.tile + more;
        if (takes < cycles) *this = {takes, sharers_, launch_};
    }
};

template <class T>
void consider(Choice& best, const Product& g) {
    const int at_once = clusters_at_once<T>(), slabs = harness::tiles(g.k, BK<bf16>);
    const int64_t tiles = cluster_tiles<T>(g), waves = tiles / at_once, left = tiles % at_once;
    best.offer<T>(g, double(waves + (left > 0)), 0, 1, launch_with<T>);
    const int sharers = left ? int(std::min<int64_t>(at_once / left, slabs)) : 1;
    // A part's sums leave an SM and come back at 24 bytes a cycle, and the sharers wait for one another.
    if (sharers > 1)
        best.offer<T>(g, waves + double(harness::tiles(slabs, sharers)) / slabs, 2 * T::BM * T::BN * 4 / 24 + 4000, sharers, launch_with<T>);
}

// Of all kinds, the one that takes the least.
inline Choice best_kind(const Product& g) {
    if (!target_has_wgmma()) harness::fail(harness::UNSUPPORTED, "this rung is written for sm_90a");
    if (g.n % 8 || g.k % 8) harness::fail(harness::UNSUPPORTED, "n and k must be multiples of 8, not %d and %d", g.n, g.k);
    Choice best;
    consider<Large>(best, g);
    consider<Broad>(best, g);
    consider<Medium>(best, g);
    consider<Middle>(best, g);
    consider<Low>(best, g);
    consider<Small>(best, g);
    consider<Lone>(best, g);
    return best;
}
