// Rung 23: TF32 tiles of two heights, where the last wave lacks a few.
//
// Changes from rung 12:
//   - Some columns of tiles get a tile more, and most of theirs have 240 rows instead of 256, so that all clusters have equally many tiles. At 4096, 256
//     tiles for 66 clusters are four for 58 of them and three for the others; with 17 tiles in every second column, 264 are four for each, and the busiest
//     has 1,008 rows instead of 1,024. The host makes a table of where tiles lie, as in rung 22.
//   - Half of a slab's products are under way while the operands of the other half are read, each into its own registers.
//   - The blocks of a cluster do not meet at the end: a producer waits until its stages are empty.
// Expect: 1.5 % fewer cycles at 4096, and as much at 8192.
//
//       +--------+--------+--------+ ...       A low tile fetches 240 rows of A, not 256, since its half of them is a box of 120.
//       |  256   |  256   |  256   |           Its last band of C has 16 rows.
//       |        +--------+        +
//       +--------+  240   +--------+
//       |  256   +--------+  256   |
//
// Where lower tiles of one height take less, as at 5000 with 224 rows, they are taken. For sm_90a, and rows of multiples of 16 bytes, which TMA asks for;
// refuses everything else.
#include "harness.cuh"
#include "two_widths.cuh"

using harness::tf32;

constexpr int COLUMNS = 128, SLAB = 32, HALF = SLAB / 16;  // of C a block, k of a slab, and instructions that half of it takes
constexpr int B_BOX_BYTES = SLAB * ROW_BYTES, B_BYTES = COLUMNS / 32 * B_BOX_BYTES;
constexpr int C_ROWS = 32, THIN_ROWS = 16, C_BOX_BYTES = C_ROWS * ROW_BYTES;
template <int HIGH>
constexpr int SHARED_BYTES = STAGES * (HIGH * ROW_BYTES + B_BYTES) + CONSUMERS * 4 * C_BOX_BYTES + 2 * STAGES * 8 + 1024;
static_assert(COLUMNS == 64 * CONSUMERS, "each consumer issues wgmma of 64 columns of B");
static_assert(SLAB * 4 == ROW_BYTES, "a row of a box is one 128-byte swizzle row");
static_assert(SHARED_BYTES<256> <= 227 * 1024, "a Hopper block has at most 227 KB of shared memory");

template <int HIGH, int LOW>
__global__ void __launch_bounds__(THREADS, 1)
gemm_23_two_heights(int k, const __grid_constant__ CUtensorMap a_map, const __grid_constant__ CUtensorMap low_map, const __grid_constant__ CUtensorMap b_map,
                    const __grid_constant__ CUtensorMap c_map, const __grid_constant__ CUtensorMap thin_map, const PlaceOfWidth* __restrict__ places, int all) {
#if TARGET_HAS_WGMMA
    constexpr int A_BYTES = HIGH * ROW_BYTES;
    extern __shared__ uint8_t shared[];
    const uint32_t as = (shared_address(shared) + 1023) & ~1023u, bs = as + STAGES * A_BYTES;
    const uint32_t cs = bs + STAGES * B_BYTES;
    const uint32_t full = cs + CONSUMERS * 4 * C_BOX_BYTES, empty = full + STAGES * 8;
    const uint32_t rank = rank_in_cluster();
    const int group = threadIdx.x / 128, cluster = blockIdx.x / CLUSTER, clusters = gridDim.x / CLUSTER;
    const int slabs = (k + SLAB - 1) / SLAB;
    if (threadIdx.x == 0) {
        for (int s = 0; s < STAGES; ++s) {
            barrier_init(full + 8 * s, 1);
            barrier_init(empty + 8 * s, CLUSTER * CONSUMERS);
        }
        for (const CUtensorMap* map : {&a_map, &low_map, &b_map, &c_map, &thin_map}) prefetch_map(map);
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    cluster_sync();
    int stage = 0, parity = 0;
    const auto advance = [&] {
        if (++stage == STAGES) stage = 0, parity ^= 1;
    };
    if (group == 0) {
        give_registers<40>();
        if (threadIdx.x == 0) {
            for (int tile = cluster; tile < all; tile += clusters) {
                const PlaceOfWidth place = places[tile];
                const int half = (LOW && place.narrow ? LOW : HIGH) / CLUSTER, col0 = (place.row * CLUSTER + rank) * COLUMNS;
                const CUtensorMap* map = LOW && place.narrow ? &low_map : &a_map;
                for (int slab = 0; slab < slabs; ++slab, advance()) {
                    barrier_wait(empty + 8 * stage, parity ^ 1);
                    barrier_expect(full + 8 * stage, CLUSTER * half * ROW_BYTES + B_BYTES);
                    copy_box_to_all(as + stage * A_BYTES + rank * half * ROW_BYTES, map, full + 8 * stage, slab * SLAB, place.col + rank * half,
                                    (1 << CLUSTER) - 1);
                    for (int box = 0; box < COLUMNS / 32; ++box)
                        copy_box(bs + stage * B_BYTES + box * B_BOX_BYTES, &b_map, full + 8 * stage, col0 + box * 32, slab * SLAB);
                }
            }
            for (int s = 0; s < STAGES; ++s, advance()) barrier_wait(empty + 8 * stage, parity ^ 1);  // no block may end before the other is done with it
        }
    } else {
        take_registers<232>();
        const int thread = threadIdx.x % 128, warp = thread / 32, lane = thread % 32;
        // Two warps share 32 columns of C, a barrier and two boxes to send them away in.
        const int pair = (group - 1) * 2 + warp / 2 + 1;
        const bool first_of_pair = warp % 2 == 0 && lane == 0;
        const uint32_t boxes = cs + (pair - 1) * 2 * C_BOX_BYTES;
        // This lane's two columns within its warp's box of 32: 16-byte pieces first_piece and the one after, word `word`.
        const int first_piece = lane / 16 * 4 + warp % 2 * 2, word = lane / 4 % 4;
        const uint32_t b_box = bs + (pair - 1) * B_BOX_BYTES + word * 4;
        float sum[HIGH / 2];
        uint32_t b_part[2 * HALF][4];
        // Of this lane's two columns of Bs, what one half of a slab takes.
        const auto read_half = [&](int half) {
#pragma unroll
            for (int kk = half * HALF; kk < (half + 1) * HALF; ++kk)
#pragma unroll
                for (int i = 0; i < 4; ++i) {  // column 0 or 1 of the lane, k 0..3 or 4..7
                    const int row = kk * 8 + i / 2 * 4 + lane % 4, piece = (first_piece + i % 2) ^ (row % 8);
                    b_part[kk][i] = load_shared<uint32_t>(b_box + stage * B_BYTES + row * ROW_BYTES + piece * 16);
                }
        };
        const auto multiply_half = [&](auto product, int half, bool add) {
            const uint64_t a_part = matrix_descriptor(as + stage * A_BYTES, 16, 1024);
            wgmma_fence();
#pragma unroll
            for (int kk = half * HALF; kk < (half + 1) * HALF; ++kk) product(b_part[kk], a_part + (kk * 32 >> 4), add || kk > half * HALF);
            wgmma_commit();
        };
        const auto release = [&](int done) {
            if (lane == 0 && warp < CLUSTER) barrier_arrive_at(empty + 8 * done, warp);
        };
        // The products of a tile. At most two halves of a slab are under way: an instruction reads its registers until it is waited for.
        const auto multiply = [&](auto product) {
            barrier_wait(full + 8 * stage, parity);
            read_half(0), read_half(1);
            multiply_half(product, 0, false);
            for (int slab = 1; slab < slabs; ++slab) {
                multiply_half(product, 1, true);
                const int reading = stage;
                advance();
                barrier_wait(full + 8 * stage, parity);
                wgmma_wait<1>();
                read_half(0);
                multiply_half(product, 0, true);
                wgmma_wait<1>();
                release(reading);
                read_half(1);
            }
            multiply_half(product, 1, true);
            wgmma_wait<0>();
            release(stage);
            advance();
            wgmma_settle(sum);
        };
        const auto send = [&](int row0, int col0, int rows) {  // or 16 fewer than a high tile has
#pragma unroll
            for (int band = 0; band < HIGH / C_ROWS; ++band) {
                const uint32_t to = boxes + band % 2 * C_BOX_BYTES;
                // The band before the last one has left this place; after a tile of an odd number of bands, so has the last one.
                if (first_of_pair && band == 0 && HIGH / C_ROWS % 2) store_box_wait_read<0>();
                else if (first_of_pair) store_box_wait_read<1>();
                sync_two_warps(pair);
#pragma unroll
                for (int i = 0; i < C_ROWS / 2; ++i) {  // in registers: row e of 2, column h of 2, then the next 8 rows
                    const int e = i % 2, h = i / 2 % 2, row = i / 4 * 8 + lane % 4 * 2 + e, piece = (first_piece + h) ^ (row % 8);
                    store_shared(to + row * ROW_BYTES + piece * 16 + word * 4, sum[band * C_ROWS / 2 + i]);
                }
                fence_async();
                sync_two_warps(pair);
                if (first_of_pair) {
                    store_box(band * C_ROWS + C_ROWS > rows ? &thin_map : &c_map, to, col0, row0 + band * C_ROWS);
                    store_box_commit();
                }
            }
        };
        for (int tile = cluster; tile < all; tile += clusters) {
            const PlaceOfWidth place = places[tile];
            const bool low = LOW && place.narrow;
            if constexpr (LOW != 0) {
                if (low) multiply([&](const uint32_t (&b)[4], uint64_t a, bool add) { wgmma_64_rows_of_240(sum, b, a, add); });
            }
            if (!low) multiply([&](const uint32_t (&b)[4], uint64_t a, bool add) { wgmma_64_rows(sum, b, a, add); });
            send(place.col, (place.row * CLUSTER + rank) * COLUMNS + (pair - 1) * 32, low ? LOW : HIGH);
        }
        if (first_of_pair) store_box_wait_read<0>();
    }
#endif
}

using Product = harness::Gemm<tf32>;

// Where the tiles of a shape lie, and what the busiest cluster takes for them. Made once.
struct Plan {
    double cycles = 1e300;
    std::vector<PlaceOfWidth> places;
    void (*launch)(const Product&, const PlaceOfWidth*, int) = nullptr;

    void offer(double takes, std::vector<PlaceOfWidth> at, void (*by)(const Product&, const PlaceOfWidth*, int)) {
        if (takes < cycles) cycles = takes, places = std::move(at), launch = by;
    }
};

template <int HIGH, int LOW>
void launch_as(const Product& g, const PlaceOfWidth* places, int all) {
    const auto map_of_a = [&](int rows) { return harness::tensor_map(g.a, g.m, g.k, rows / CLUSTER, SLAB, CU_TENSOR_MAP_SWIZZLE_128B); };
    const auto map_of_c = [&](int rows) { return harness::tensor_map(g.c, g.m, g.n, rows, 32, CU_TENSOR_MAP_SWIZZLE_128B); };
    launch_persistent(gemm_23_two_heights<HIGH, LOW>, CLUSTER, THREADS, SHARED_BYTES<HIGH>, all, g.k, map_of_a(HIGH), map_of_a(LOW ? LOW : HIGH),
                      harness::tensor_map(g.b, g.k, g.n, SLAB, 32, CU_TENSOR_MAP_SWIZZLE_128B), map_of_c(C_ROWS), map_of_c(THIN_ROWS), places, all);
}

// What a block takes for so many rows of a slab, in cycles: four a row, unless the L2 takes longer to hand out half of A's rows and B's columns. And what it
// takes besides for each tile, which leaves while nobody multiplies (NOTES.md, steps 42 and 44).
constexpr double L2_BYTES_A_CYCLE = 37, LEAVING_CYCLES = 4000;
double slab_cycles(int rows) { return std::max(4.0 * rows, (rows / CLUSTER * ROW_BYTES + B_BYTES) / L2_BYTES_A_CYCLE); }

// Tiles of one height, in bands of columns as those of two heights.
template <int HIGH>
void offer_one_height(Plan& plan, const Product& g, int clusters) {
    const int rows = harness::tiles(g.m, HIGH), columns = harness::tiles(g.n, CLUSTER * COLUMNS);
    std::vector<PlaceOfWidth> places;
    for (int band = 0; band < columns; band += BAND_ROWS)
        for (int row = 0; row < rows; ++row)
            for (int column = band; column < std::min(band + BAND_ROWS, columns); ++column) places.push_back({column, row * HIGH, 0});
    const int waves = harness::tiles(rows * columns, clusters);
    plan.offer(waves * (harness::tiles(g.k, SLAB) * slab_cycles(HIGH) + LEAVING_CYCLES), std::move(places), launch_as<HIGH, 0>);
}

Plan plan_for(const Product& g) {
    const int clusters = PersistentLaunch(gemm_23_two_heights<256, 240>, CLUSTER, THREADS, SHARED_BYTES<256>).clusters_at_once;
    Plan plan;
    // Rung 22 mixes tiles of 256 and 240 columns in some rows; here they are rows, in some columns.
    const TwoWidths heights = best_mixture(harness::tiles(g.n, CLUSTER * COLUMNS), g.m, clusters);
    std::vector<PlaceOfWidth> places;
    for (int tile = 0; tile < heights.tiles(); ++tile) places.push_back(heights.place(tile));
    plan.offer(harness::tiles(g.k, SLAB) * slab_cycles(heights.most_columns(clusters)) + harness::tiles(heights.tiles(), clusters) * LEAVING_CYCLES,
               std::move(places), launch_as<256, 240>);
    offer_one_height<224>(plan, g, clusters);
    offer_one_height<192>(plan, g, clusters);
    offer_one_height<128>(plan, g, clusters);
    return plan;
}

void launch(const Product& g) {
    if (!target_has_wgmma()) harness::fail(harness::UNSUPPORTED, "this rung is written for sm_90a");
    if (g.n % 4 || g.k % 4) harness::fail(harness::UNSUPPORTED, "n and k must be multiples of 4, not %d and %d", g.n, g.k);
    static Plan plan;
    static std::unique_ptr<harness::DeviceBuffer<PlaceOfWidth>> on_gpu;
    static int m = 0, n = 0, k = 0;
    if (g.m != m || g.n != n || g.k != k) {
        plan = plan_for(g), m = g.m, n = g.n, k = g.k;
        on_gpu = std::make_unique<harness::DeviceBuffer<PlaceOfWidth>>(plan.places.size());
        CUDA_CHECK(cudaMemcpy(on_gpu->data(), plan.places.data(), on_gpu->bytes(), cudaMemcpyHostToDevice));
    }
    plan.launch(g, on_gpu->data(), int(plan.places.size()));
}

int main(int argc, char** argv) { return harness::run<harness::Multiplication<tf32>>(argc, argv, {"23_two_heights", launch}); }
