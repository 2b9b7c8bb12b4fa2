// Slabs of A and B on their way through shared memory to the tensor cores, as rung 10 spells it out: one thread fetches them
// into a ring of stages, a cluster of two blocks shares B, and two warp groups multiply 64 rows of A each. BF16 or E4M3.
#pragma once

#include "hopper.cuh"
#include "persistent.cuh"

using bf16 = __nv_bfloat16;

constexpr int CLUSTER = 2;
constexpr int ROW_BYTES = 128;                 // of every box in shared memory: one row of the swizzle
[[maybe_unused]] constexpr int BAND_ROWS = 8;  // of tiles

// A block's tile of C: each of its consumers multiplies 64 rows by all columns, from slabs in so many stages. So many blocks share B.
template <int CONSUMERS_, int BN_, int STAGES_, int CLUSTER_ = CLUSTER>
struct Tile {
    static constexpr int CLUSTER = CLUSTER_, CONSUMERS = CONSUMERS_, BM = 64 * CONSUMERS, BN = BN_, STAGES = STAGES_, THREADS = 128 * (1 + CONSUMERS);
    static constexpr int A_BYTES = BM * ROW_BYTES, B_BYTES = BN * ROW_BYTES;
    static constexpr int RING_BYTES = STAGES * (A_BYTES + B_BYTES), BARRIER_BYTES = 2 * STAGES * 8;
};
using Large = Tile<2, 256, 4>;
constexpr int BM = Large::BM, BN = Large::BN, STAGES = Large::STAGES, CONSUMERS = Large::CONSUMERS, THREADS = Large::THREADS;
constexpr int RING_BYTES = Large::RING_BYTES, BARRIER_BYTES = Large::BARRIER_BYTES;

template <class Element>
constexpr int BK = ROW_BYTES / sizeof(Element);

// Maps for the copy engine. B comes in boxes of 64 columns if it is BF16; E4M3 lies by columns, and comes as A does.
template <class T = Large, class Element, class Result>
CUtensorMap map_of_a(const harness::Gemm<Element, Result>& g, CUtensorMapL2promotion promotion = CU_TENSOR_MAP_L2_PROMOTION_L2_256B) {
    return harness::tensor_map(g.a, g.m, g.k, T::BM, BK<Element>, CU_TENSOR_MAP_SWIZZLE_128B, promotion);
}
template <class T = Large, class Element, class Result>
CUtensorMap map_of_b(const harness::Gemm<Element, Result>& g, CUtensorMapL2promotion promotion = CU_TENSOR_MAP_L2_PROMOTION_L2_256B) {
    if (g.B_BY_COLUMNS) return harness::tensor_map(g.b, g.n, g.k, T::BN / T::CLUSTER, BK<Element>, CU_TENSOR_MAP_SWIZZLE_128B);
    return harness::tensor_map(g.b, g.k, g.n, BK<Element>, BK<Element>, CU_TENSOR_MAP_SWIZZLE_128B, promotion);
}

#if TARGET_HAS_WGMMA
// The tiles of C that this block's cluster works on, one after the other.
template <class Element, class T = Large>
struct Tiles {
    int m, n, k;
    const uint32_t rank = rank_in_cluster();
    const int cluster = blockIdx.x / T::CLUSTER, clusters = gridDim.x / T::CLUSTER;
    const int tiles_m = (m + T::CLUSTER * T::BM - 1) / (T::CLUSTER * T::BM), tiles_n = (n + T::BN - 1) / T::BN;
    const int slabs = (k + BK<Element> - 1) / BK<Element>;

    // Row and column of this block's part of a tile.
    __device__ __forceinline__ int2 origin(int tile) const {
        const int2 place = place_of_tile(tile, tiles_m, tiles_n, BAND_ROWS);
        return make_int2((place.x * T::CLUSTER + rank) * T::BM, place.y * T::BN);
    }
    template <class Visit>
    __device__ __forceinline__ void each(Visit visit) const {
        for (int tile = cluster; tile < tiles_m * tiles_n; tile += clusters) visit(tile);
    }
};

// The ring: `full` barriers count the bytes that arrive in a stage, `empty` ones the consumers of the cluster that are done with it.
template <class Element, class T = Large>
struct Ring {
    uint32_t as, bs, full, empty;
    int stage = 0, parity = 0;

    __device__ __forceinline__ Ring(uint32_t slabs, uint32_t barriers)
        : as(slabs), bs(slabs + T::STAGES * T::A_BYTES), full(barriers), empty(barriers + T::STAGES * 8) {}

    __device__ __forceinline__ void init() const {
        for (int s = 0; s < T::STAGES; ++s) {
            barrier_init(full + 8 * s, 1);
            barrier_init(empty + 8 * s, T::CLUSTER * T::CONSUMERS);
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }

    __device__ __forceinline__ void advance() {
        if (++stage == T::STAGES) stage = 0, parity ^= 1;
    }

    // The producer: fetches a slab of A for this block, and its half of B for the whole cluster.
    __device__ __forceinline__ void fetch(const CUtensorMap& a_map, const CUtensorMap& b_map, uint32_t rank, int2 origin, int slab) {
        constexpr int BOX_COLUMNS = sizeof(Element) == 1 ? T::BN / T::CLUSTER : BK<Element>, BOXES = T::BN / BOX_COLUMNS / T::CLUSTER;
        constexpr uint32_t OVER = T::BN / BOX_COLUMNS % T::CLUSTER;  // boxes, one more for each of the first ranks
        barrier_wait(empty + 8 * stage, parity ^ 1);
        barrier_expect(full + 8 * stage, T::A_BYTES + T::B_BYTES);
        copy_box(as + stage * T::A_BYTES, &a_map, full + 8 * stage, slab * BK<Element>, origin.x);
        const uint32_t first = OVER ? rank * BOXES + min(rank, OVER) : rank * BOXES, count = OVER ? BOXES + (rank < OVER) : BOXES;
        for (int box = first; box < first + count; ++box) {
            const int col = origin.y + box * BOX_COLUMNS, kk = slab * BK<Element>;
            const bool by_columns = sizeof(Element) == 1;
            const uint32_t to = bs + stage * T::B_BYTES + box * BOX_COLUMNS * ROW_BYTES;
            const int x = by_columns ? kk : col, y = by_columns ? col : kk;
            if constexpr (T::CLUSTER == 1) copy_box(to, &b_map, full + 8 * stage, x, y);
            else copy_box_to_all(to, &b_map, full + 8 * stage, x, y, (1 << T::CLUSTER) - 1);
        }
        advance();
    }

    // The producer, last of all: waits until every consumer of the cluster is done with every stage. A block may not end before,
    // since they count down barriers of its own.
    __device__ __forceinline__ void drain() {
        for (int s = 0; s < T::STAGES; ++s, advance()) barrier_wait(empty + 8 * stage, parity ^ 1);
    }

    // A consumer: its 64 rows of As times Bs, under way when this returns.
    __device__ __forceinline__ void multiply(float (&sum)[T::BN / 2], int consumer, bool add) const {
        barrier_wait(full + 8 * stage, parity);
        // k adjacent: 8 rows (of B by columns: 8 columns) apart by 1 KB, k by k within a row.
        const uint64_t a_part = matrix_descriptor(as + stage * T::A_BYTES + consumer * 64 * ROW_BYTES, 16, 1024);
        wgmma_fence();
        if constexpr (sizeof(Element) == 1) {
            const uint64_t b_part = matrix_descriptor(bs + stage * T::B_BYTES, 16, 1024);
#pragma unroll
            for (int kk = 0; kk < BK<Element> / 32; ++kk)
                wgmma_64x256x32(sum, a_part + (kk * 32 >> 4), b_part + (kk * 32 >> 4), add || kk > 0);
        } else {
            // Columns adjacent: 64 columns apart by a box, 8 k by 1 KB.
            const uint64_t b_part = matrix_descriptor(bs + stage * T::B_BYTES, 64 * ROW_BYTES, 1024);
#pragma unroll
            for (int kk = 0; kk < BK<Element> / 16; ++kk)
                wgmma_64_rows(sum, a_part + (kk * 32 >> 4), b_part + (kk * 2048 >> 4), add || kk > 0);
        }
        wgmma_commit();
    }

    // The same by another instruction: product(a, b, whether these are the slab's first) for each 16 k. BF16 alone.
    template <class Product>
    __device__ __forceinline__ void multiply_by(int consumer, Product product) const {
        barrier_wait(full + 8 * stage, parity);
        const uint64_t a_part = matrix_descriptor(as + stage * T::A_BYTES + consumer * 64 * ROW_BYTES, 16, 1024);
        const uint64_t b_part = matrix_descriptor(bs + stage * T::B_BYTES, 64 * ROW_BYTES, 1024);
        wgmma_fence();
#pragma unroll
        for (int kk = 0; kk < BK<Element> / 16; ++kk) product(a_part + (kk * 32 >> 4), b_part + (kk * 2048 >> 4), kk == 0);
        wgmma_commit();
    }

    // Waits for the products and hands the stage back.
    __device__ __forceinline__ void release() {
        wgmma_wait<0>();
        hand_back(stage);
        advance();
    }

    // As `multiply` for the next slab, while the products of this one may still be under way; then hands back this one's stage.
    __device__ __forceinline__ void multiply_next(float (&sum)[T::BN / 2], int consumer) {
        const int before = stage;
        advance();
        multiply(sum, consumer, true);
        wgmma_wait<1>();
        hand_back(before);
    }

    // To the producers of both blocks that wrote into it.
    __device__ __forceinline__ void hand_back(int done) const {
        const int warp = threadIdx.x % 128 / 32;
        if (threadIdx.x % 32 == 0 && warp < T::CLUSTER) barrier_arrive_at(empty + 8 * done, warp);
    }
};
#endif
