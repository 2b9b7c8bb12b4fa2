// Rung 22: large tiles of two widths, where the last wave lacks a few.
//
// Change from rung 21: one kind of tiles more. Some rows of tiles of 256 x 256 get a tile more, and most of theirs are 256 x 240, so that all clusters
// have equally many tiles. At 4096, 256 tiles for 66 clusters are four for 58 of them and three for the others; with 17 tiles in every second row, 264 are
// four for each, and the busiest has 1,008 columns instead of 1,024.
// Expect: 1.5 % fewer cycles at 4096, of which the clock takes back a third.
//
//       +---256---+---256---+---256---+ ...         A narrow tile fetches 256 columns as well: a box of B is 64 wide. Three boxes of C
//       +---256---+--240--+--240--+--240--+ ...     leave as in rung 16, the last 48 columns from registers.
//       +---256---+---256---+---256---+ ...
//
// Where another kind takes less, that is taken. For sm_90a, and rows of multiples of 16 bytes, which TMA asks for; refuses everything else.
#include "harness.cuh"
#include "by_shape.cuh"
#include "two_widths.cuh"

__global__ void __launch_bounds__(THREADS, 1)
gemm_22_two_widths(int m, int n, int k, const __grid_constant__ CUtensorMap a_map, const __grid_constant__ CUtensorMap b_map,
                   const __grid_constant__ CUtensorMap c_map, bf16* c, const __grid_constant__ TwoWidths widths) {
#if TARGET_HAS_WGMMA
    extern __shared__ uint8_t shared[];
    const uint32_t slabs = (shared_address(shared) + 1023) & ~1023u, cs = slabs + RING_BYTES;
    const Tiles<bf16> tiles{m, n, k};
    Ring<bf16> ring(slabs, cs + CONSUMERS * 4 * 2 * C_BOX_BYTES);
    if (threadIdx.x == 0) {
        ring.init();
        for (const CUtensorMap* map : {&a_map, &b_map, &c_map}) prefetch_map(map);
    }
    cluster_sync();
    const int all = widths.tiles();
    if (threadIdx.x < 128) {
        give_registers<40>();
        if (threadIdx.x == 0) {
            for (int tile = tiles.cluster; tile < all; tile += tiles.clusters) {
                const PlaceOfWidth place = widths.place(tile);
                const int2 origin = make_int2((place.row * CLUSTER + tiles.rank) * BM, place.col);
                for (int slab = 0; slab < tiles.slabs; ++slab) ring.fetch(a_map, b_map, tiles.rank, origin, slab);
            }
            ring.drain();
        }
    } else {
        take_registers<232>();
        const int consumer = threadIdx.x / 128 - 1, warp = threadIdx.x / 32 - 4, lane = threadIdx.x % 32;
        const uint32_t boxes = cs + warp * 2 * C_BOX_BYTES;
        constexpr int WHOLE = NARROW / C_COLUMNS, LEFT = NARROW % C_COLUMNS;  // boxes of a narrow tile, and columns that are no box
        LeavingTile<> leaving(&c_map);
        bool leaving_narrow = false;
        const auto send = [&](int box) {
            if (box < WHOLE || !leaving_narrow) return leaving.send(boxes, box);
            const int row = leaving.row0 + lane / 4, col = leaving.col0 + WHOLE * C_COLUMNS + lane % 4 * 2;
#pragma unroll
            for (int eight = 0; eight < LEFT / 8; ++eight)
#pragma unroll
                for (int half = 0; half < 2; ++half)
                    if (row + half * 8 < m && col + eight * 8 < n)
                        *reinterpret_cast<__nv_bfloat162*>(c + size_t(row + half * 8) * n + col + eight * 8) =
                            leaving.packed[WHOLE * C_COLUMNS / 4 + eight * 2 + half];
        };
        PlaceOfWidth next = widths.place(tiles.cluster);
        for (int tile = tiles.cluster; tile < all; tile += tiles.clusters) {
            const PlaceOfWidth place = next;
            float sum[128];
            const auto multiply = [&](auto product) {
                for (int slab = 0; slab < tiles.slabs; ++slab) {
                    ring.multiply_by(consumer, [&](uint64_t a, uint64_t b, bool first) { product(a, b, slab > 0 || !first); });
                    if (slab == 0) next = widths.place(min(tile + tiles.clusters, all - 1));  // takes divisions: under products, not between tiles
                    if (leaving.waits() && slab < C_BOXES) {
#pragma unroll
                        for (int box = 0; box < C_BOXES; ++box)
                            if (slab == box) send(box);
                    }
                    ring.release();
                }
            };
            if (place.narrow) multiply([&](uint64_t a, uint64_t b, bool add) { wgmma_64_rows_of_240(sum, a, b, add); });
            else multiply([&](uint64_t a, uint64_t b, bool add) { wgmma_64_rows(sum, a, b, add); });
#pragma unroll
            for (int box = 0; box < C_BOXES; ++box)  // k was too short for all boxes
                if (leaving.waits() && tiles.slabs <= box) send(box);
            leaving.take<false>(sum, (place.row * CLUSTER + tiles.rank) * BM + warp * 16, place.col);
            leaving_narrow = place.narrow;
        }
#pragma unroll
        for (int box = 0; box < C_BOXES; ++box) send(box);
        if (lane == 0) store_box_wait_read<0>();
    }
#endif
}

// The mixture for a shape is worked out once.
TwoWidths mixture_for(const Product& g) {
    static TwoWidths mixture{};
    static int m = -1, n = -1;
    if (g.m != m || g.n != n) mixture = best_mixture(harness::tiles(g.m, CLUSTER * BM), g.n, clusters_at_once<Large>()), m = g.m, n = g.n;
    return mixture;
}

void launch_two_widths(const Product& g, int) {
    const TwoWidths mixture = mixture_for(g);
    // Narrow tiles start anywhere in a line.
    const CUtensorMapL2promotion promotion = CU_TENSOR_MAP_L2_PROMOTION_L2_64B;
    launch_persistent(gemm_22_two_widths, CLUSTER, THREADS, LEAVING_BYTES, mixture.tiles(), g.m, g.n, g.k, map_of_a(g, promotion), map_of_b(g, promotion),
                      harness::tensor_map(g.c, g.m, g.n, 16, C_COLUMNS, CU_TENSOR_MAP_SWIZZLE_128B), g.c, mixture);
}

void launch(const Product& g) {
    Choice best = best_kind(g);
    const TwoWidths mixture = mixture_for(g);
    // A narrow tile fetches as much as a wide one: where rows start within sectors, the L2 binds, and it gains nothing.
    if (mixture.narrow && astray_operands(g) == 0) {
        const double most = double(mixture.most_columns(clusters_at_once<Large>())) / BN;
        best.offer<Large>(g, most, 0, 1, launch_two_widths);
    }
    best.launch(g, best.sharers);
}

int main(int argc, char** argv) { return harness::run<harness::Multiplication<bf16, bf16>>(argc, argv, {"22_two_widths", launch}); }
