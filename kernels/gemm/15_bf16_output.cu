// Rung 15: C is stored in BF16, as networks use it.
//
// Change from rung 11: a lane rounds its sums to BF16 and packs two into a word before they go to shared memory. A box of C is 64
// columns wide for the same 128 bytes a row, so a tile leaves in half as many boxes, and C takes half the bytes.
// Expect: half the stores and half the bytes written; as much faster as the stores of C were not hidden behind the products.
//
//       warp: 16 x 256 of C in registers                 shared memory            C
//       +--------+--------+--------+--------+            +----+ +----+
//       |   0    |   1    |   2    |   3    |     --->   | 2  | | 3  |  --TMA-->  boxes of 16 rows x 64 columns
//       +--------+--------+--------+--------+            +----+ +----+
//
// The eight rows that a warp writes at once hold 16 bytes each, in the swizzle's eight different pieces: every bank once.
// For sm_90a, and rows of multiples of 16 bytes, which TMA asks for; refuses everything else.
#include "harness.cuh"
#include "hopper.cuh"
#include "persistent.cuh"

using bf16 = __nv_bfloat16;

constexpr int BM = 128, BN = 256, BK = 64, STAGES = 4, CLUSTER = 2, CONSUMERS = 2;
constexpr int THREADS = 128 * (1 + CONSUMERS);
[[maybe_unused]] constexpr int BAND_ROWS = 8;  // of tiles
constexpr int A_BYTES = BM * BK * 2, B_BYTES = BK * BN * 2, BOX_BYTES = BK * 64 * 2;
constexpr int C_COLUMNS = 64, C_BOX_BYTES = 16 * C_COLUMNS * 2;  // of a warp's box
constexpr int SHARED_BYTES = STAGES * (A_BYTES + B_BYTES) + CONSUMERS * 4 * 2 * C_BOX_BYTES + 2 * STAGES * 8 + 1024;
static_assert(BM == 64 * CONSUMERS && BN == 256, "each consumer issues wgmma of 64 x 256");
static_assert(BN / 64 * BOX_BYTES == B_BYTES, "Bs is a row of boxes, 64 columns each");
static_assert(BK * 2 == 128 && C_COLUMNS * 2 == 128, "rows of As and of a box of C are 128-byte swizzle rows");
static_assert(SHARED_BYTES <= 227 * 1024, "a Hopper block has at most 227 KB of shared memory");

__global__ void __launch_bounds__(THREADS, 1)
gemm_15_bf16_output(int m, int n, int k, const __grid_constant__ CUtensorMap a_map, const __grid_constant__ CUtensorMap b_map,
                    const __grid_constant__ CUtensorMap c_map) {
#if TARGET_HAS_WGMMA
    extern __shared__ uint8_t shared[];
    const uint32_t as = (shared_address(shared) + 1023) & ~1023u, bs = as + STAGES * A_BYTES;
    const uint32_t cs = bs + STAGES * B_BYTES;
    const uint32_t full = cs + CONSUMERS * 4 * 2 * C_BOX_BYTES, empty = full + STAGES * 8;
    const uint32_t rank = rank_in_cluster();
    const int group = threadIdx.x / 128, cluster = blockIdx.x / CLUSTER, clusters = gridDim.x / CLUSTER;
    const int tiles_m = (m + CLUSTER * BM - 1) / (CLUSTER * BM), tiles_n = (n + BN - 1) / BN;
    const int slabs = (k + BK - 1) / BK;
    if (threadIdx.x == 0) {
        for (int s = 0; s < STAGES; ++s) {
            barrier_init(full + 8 * s, 1);
            barrier_init(empty + 8 * s, CLUSTER * CONSUMERS);
        }
        for (const CUtensorMap* map : {&a_map, &b_map, &c_map}) prefetch_map(map);
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
            for (int tile = cluster; tile < tiles_m * tiles_n; tile += clusters) {
                const int2 place = place_of_tile(tile, tiles_m, tiles_n, BAND_ROWS);
                const int row0 = (place.x * CLUSTER + rank) * BM, col0 = place.y * BN;
                for (int slab = 0; slab < slabs; ++slab, advance()) {
                    barrier_wait(empty + 8 * stage, parity ^ 1);
                    barrier_expect(full + 8 * stage, A_BYTES + B_BYTES);
                    copy_box(as + stage * A_BYTES, &a_map, full + 8 * stage, slab * BK, row0);
                    for (int box = rank * 2; box < rank * 2 + 2; ++box)
                        copy_box_to_all(bs + stage * B_BYTES + box * BOX_BYTES, &b_map, full + 8 * stage, col0 + box * 64,
                                        slab * BK, (1 << CLUSTER) - 1);
                }
            }
        }
    } else {
        take_registers<232>();
        const int warp = threadIdx.x % 128 / 32, lane = threadIdx.x % 32;
        const uint32_t boxes = cs + ((group - 1) * 4 + warp) * 2 * C_BOX_BYTES;
        const auto release = [&](int done) {
            if (lane == 0 && warp < CLUSTER) barrier_arrive_at(empty + 8 * done, warp);
        };
        for (int tile = cluster; tile < tiles_m * tiles_n; tile += clusters) {
            float sum[128];
            for (int slab = 0; slab < slabs; ++slab, advance()) {
                barrier_wait(full + 8 * stage, parity);
                // As: k adjacent, 8 rows apart by 1 KB. Bs: columns adjacent, 64 columns apart by a box, 8 k by 1 KB.
                const uint64_t a_part = matrix_descriptor(as + stage * A_BYTES + (group - 1) * 64 * 128, 16, 1024);
                const uint64_t b_part = matrix_descriptor(bs + stage * B_BYTES, BOX_BYTES, 1024);
                wgmma_fence();
#pragma unroll
                for (int kk = 0; kk < BK / 16; ++kk)
                    wgmma_64x256x16(sum, a_part + (kk * 32 >> 4), b_part + (kk * 2048 >> 4), slab + kk > 0);
                wgmma_commit();
                wgmma_wait<0>();
                release(stage);
            }
            const int2 place = place_of_tile(tile, tiles_m, tiles_n, BAND_ROWS);
            const int row0 = (place.x * CLUSTER + rank) * BM + (group - 1) * 64 + warp * 16, col0 = place.y * BN;
#pragma unroll
            for (int box = 0; box < BN / C_COLUMNS; ++box) {
                const uint32_t to = boxes + box % 2 * C_BOX_BYTES;
                if (lane == 0) store_box_wait_read<1>();  // the box before the last one has left this place
                __syncwarp();
#pragma unroll
                for (int pair = 0; pair < C_COLUMNS / 4; ++pair) {  // the upper or the lower 8 rows of 8 columns
                    const int row = pair % 2 * 8 + lane / 4, piece = (pair / 2) ^ (row % 8);
                    const int at = box * C_COLUMNS / 2 + pair * 2;
                    const __nv_bfloat162 two = __floats2bfloat162_rn(sum[at], sum[at + 1]);
                    store_shared(to + row * 128 + piece * 16 + lane % 4 * 4, two);
                }
                fence_async();
                __syncwarp();
                if (lane == 0) {
                    store_box(&c_map, to, col0 + box * C_COLUMNS, row0);
                    store_box_commit();
                }
            }
        }
        if (lane == 0) store_box_wait_read<0>();
    }
    cluster_sync();
#endif
}

void launch(const harness::Gemm<bf16, bf16>& g) {
    if (!target_has_wgmma()) harness::fail(harness::UNSUPPORTED, "this rung is written for sm_90a");
    if (g.n % 8 || g.k % 8) harness::fail(harness::UNSUPPORTED, "n and k must be multiples of 8, not %d and %d", g.n, g.k);
    const int64_t tiles = int64_t(harness::tiles(g.m, CLUSTER * BM)) * harness::tiles(g.n, BN);
    launch_persistent(gemm_15_bf16_output, CLUSTER, THREADS, SHARED_BYTES, tiles, g.m, g.n, g.k,
                      harness::tensor_map(g.a, g.m, g.k, BM, 64, CU_TENSOR_MAP_SWIZZLE_128B),
                      harness::tensor_map(g.b, g.k, g.n, BK, 64, CU_TENSOR_MAP_SWIZZLE_128B),
                      harness::tensor_map(g.c, g.m, g.n, 16, C_COLUMNS, CU_TENSOR_MAP_SWIZZLE_128B));
}

int main(int argc, char** argv) { return harness::run<harness::Multiplication<bf16, bf16>>(argc, argv, {"15_bf16_output", launch}); }
