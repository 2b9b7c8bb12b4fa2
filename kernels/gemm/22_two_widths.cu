// Rung 22: large tiles of two widths, where the last wave lacks a few.
//
// Change from rung 21: one kind of tiles more. Some rows of tiles of 256 x 256 get a tile more, and most of theirs are 256 x 240, so that all clusters
// have equally many tiles. At 4096, 256 tiles for 66 clusters are four for 58 of them and three for the others; with 17 tiles in every second row, 264 are
// four for each, and the busiest has 1,008 columns instead of 1,024.
// Expect: 1.5 % fewer cycles at 4096, of which the clock takes back a third; as much at 8192.
//
//       +---256---+---256---+---256---+ ...         A narrow tile fetches 256 columns as well: a box of B is 64 wide. Three boxes of C
//       +---256---+--240--+--240--+--240--+ ...     leave as in rung 16, and three of 16 columns.
//       +---256---+---256---+---256---+ ...
//
// Where another kind takes less, that is taken. For sm_90a, and rows of multiples of 16 bytes, which TMA asks for; refuses everything else.
#include "harness.cuh"
#include "tile_kinds.cuh"
#include "two_widths.cuh"

constexpr int THIN_COLUMNS = 16, THIN_BYTES = 16 * THIN_COLUMNS * 2;  // of a thin box of C, whose rows of 32 bytes lie one after the other

#if TARGET_HAS_WGMMA
// As send_box, for fewer columns than a box has.
template <int COLUMNS>
__device__ __forceinline__ void send_thin_boxes(const CUtensorMap* map, uint32_t to, const __nv_bfloat162* packed, int row, int col) {
    const int lane = threadIdx.x % 32;
    if (lane == 0) store_box_wait_read<1>();
    __syncwarp();
#pragma unroll
    for (int pair = 0; pair < COLUMNS / 4; ++pair)
        store_shared(to + pair / 4 * THIN_BYTES + (pair % 2 * 8 + lane / 4) * THIN_COLUMNS * 2 + pair / 2 % 2 * 16 + lane % 4 * 4, packed[pair]);
    fence_async();
    __syncwarp();
    if (lane == 0) {
        for (int box = 0; box < COLUMNS / THIN_COLUMNS; ++box) store_box(map, to + box * THIN_BYTES, col + box * THIN_COLUMNS, row);
        store_box_commit();
    }
}
#endif

__global__ void __launch_bounds__(THREADS, 1)
gemm_22_two_widths(int m, int n, int k, const __grid_constant__ CUtensorMap a_map, const __grid_constant__ CUtensorMap b_map,
                   const __grid_constant__ CUtensorMap c_map, const __grid_constant__ CUtensorMap thin_map, const PlaceOfWidth* __restrict__ places, int all) {
#if TARGET_HAS_WGMMA
    extern __shared__ uint8_t shared[];
    const uint32_t slabs = (shared_address(shared) + 1023) & ~1023u, cs = slabs + RING_BYTES;
    const Tiles<bf16> tiles{m, n, k};
    Ring<bf16> ring(slabs, cs + CONSUMERS * 4 * 2 * C_BOX_BYTES);
    if (threadIdx.x == 0) {
        ring.init();
        for (const CUtensorMap* map : {&a_map, &b_map, &c_map, &thin_map}) prefetch_map(map);
    }
    cluster_sync();
    if (threadIdx.x < 128) {
        give_registers<40>();
        if (threadIdx.x == 0) {
            PlaceOfWidth next = places[tiles.cluster];
            for (int tile = tiles.cluster; tile < all; tile += tiles.clusters) {
                const PlaceOfWidth place = next;
                next = places[min(tile + tiles.clusters, all - 1)];
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
            if (box == WHOLE && leaving_narrow)
                send_thin_boxes<LEFT>(&thin_map, boxes + box % 2 * C_BOX_BYTES, leaving.packed + WHOLE * C_COLUMNS / 4, leaving.row0, leaving.col0 + WHOLE * C_COLUMNS);
            else leaving.send(boxes, box);
        };
        PlaceOfWidth next = places[tiles.cluster];
        for (int tile = tiles.cluster; tile < all; tile += tiles.clusters) {
            const PlaceOfWidth place = next;
            next = places[min(tile + tiles.clusters, all - 1)];
            float sum[128];
            const auto multiply = [&](auto product) {
                for (int slab = 0; slab < tiles.slabs; ++slab) {
                    ring.multiply_by(consumer, [&](uint64_t a, uint64_t b, bool first) { product(a, b, slab > 0 || !first); });
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

// The mixture for a shape, worked out once.
struct Mixture {
    TwoWidths widths;
    harness::DeviceBuffer<PlaceOfWidth> places;
    double most;  // wide tiles that a cluster has

    explicit Mixture(const TwoWidths& widths_) : widths(widths_), places(widths_.tiles()), most(double(widths_.most_columns(clusters_at_once<Large>())) / BN) {
        std::vector<PlaceOfWidth> all;
        for (int tile = 0; tile < widths.tiles(); ++tile) all.push_back(widths.place(tile));
        CUDA_CHECK(cudaMemcpy(places.data(), all.data(), places.bytes(), cudaMemcpyHostToDevice));
    }
};

const Mixture& mixture_for(const Product& g) {
    static std::unique_ptr<Mixture> mixture;
    static int m = 0, n = 0;
    if (g.m != m || g.n != n)
        mixture = std::make_unique<Mixture>(best_mixture(harness::tiles(g.m, CLUSTER * BM), g.n, clusters_at_once<Large>())), m = g.m, n = g.n;
    return *mixture;
}

void launch_two_widths(const Product& g, int) {
    const Mixture& mixture = mixture_for(g);
    const int tiles = mixture.widths.tiles();
    const CUtensorMapL2promotion promotion = CU_TENSOR_MAP_L2_PROMOTION_L2_64B;  // narrow tiles start anywhere in a line
    launch_persistent(gemm_22_two_widths, CLUSTER, THREADS, LEAVING_BYTES, tiles, g.m, g.n, g.k, map_of_a(g, promotion), map_of_b(g, promotion),
                      harness::tensor_map(g.c, g.m, g.n, 16, C_COLUMNS, CU_TENSOR_MAP_SWIZZLE_128B),
                      harness::tensor_map(g.c, g.m, g.n, 16, THIN_COLUMNS, CU_TENSOR_MAP_SWIZZLE_NONE), mixture.places.data(), tiles);
}

void launch(const Product& g) {
    Choice best = best_kind(g);
    // A narrow tile fetches as much as a wide one: where rows start within sectors, the L2 binds, and it gains nothing.
    if (astray_operands(g) == 0 && mixture_for(g).widths.narrow)
        best.offer<Large>(g, mixture_for(g).most, 300 * std::ceil(mixture_for(g).most), 1, launch_two_widths);  // what a tile takes besides a large one's
    best.launch(g, best.sharers);
}

int main(int argc, char** argv) { return harness::run<harness::Multiplication<bf16, bf16>>(argc, argv, {"22_two_widths", launch}); }
