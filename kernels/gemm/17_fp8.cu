// Rung 16: a tile of C leaves while the next one is multiplied.
#include "harness.cuh"
#include "hopper.cuh"
#include "persistent.cuh"

using bf16 = __nv_bfloat16;

#ifndef G_CLUSTER
#define G_CLUSTER 2
#endif
#ifndef G_STAGES
#define G_STAGES 4
#endif
#ifndef G_BAND
#define G_BAND 8
#endif
#ifndef G_DEFER
#define G_DEFER 1
#endif
#ifndef G_LAG
#define G_LAG 1
#endif
#ifndef G_FINAL
#define G_FINAL 1
#endif
#ifndef G_SPREAD
#define G_SPREAD 1
#endif
#ifndef G_EARLY
#define G_EARLY 0
#endif
#ifndef G_INFLIGHT
#define G_INFLIGHT 0
#endif

constexpr int BM = 128, BN = 256, BK = 128, STAGES = G_STAGES, CLUSTER = G_CLUSTER, CONSUMERS = 2;
constexpr int THREADS = 128 * (1 + CONSUMERS);
[[maybe_unused]] constexpr int BAND_ROWS = G_BAND;  // of tiles
constexpr int A_BYTES = BM * BK, B_BYTES = BK * BN, BOX_BYTES = BK * 64;
constexpr int C_COLUMNS = 64, C_BOX_BYTES = 16 * C_COLUMNS * 2, C_BOXES = BN / C_COLUMNS;  // of a warp's box
constexpr int SHARED_BYTES = STAGES * (A_BYTES + B_BYTES) + CONSUMERS * 4 * 2 * C_BOX_BYTES + 2 * STAGES * 8 + 1024;
static_assert(BM == 64 * CONSUMERS && BN == 256, "each consumer issues wgmma of 64 x 256");
static_assert(BN / 64 * BOX_BYTES == B_BYTES, "Bs is a row of boxes, 64 columns each");
static_assert(BK == 128 && C_COLUMNS * 2 == 128, "rows of As and of a box of C are 128-byte swizzle rows");
static_assert(SHARED_BYTES <= 227 * 1024, "a Hopper block has at most 227 KB of shared memory");

__device__ inline int2 place(int tile, int tiles_m, int tiles_n) {
#if G_BAND == 0
    if (tiles_m == tiles_n && (tiles_m & (tiles_m - 1)) == 0) {
        int x = 0, y = 0, t = tile;
        for (int s = 1; s < tiles_m; s *= 2) {
            const int rx = 1 & (t / 2), ry = 1 & (t ^ rx);
            if (ry == 0) {
                if (rx == 1) x = s - 1 - x, y = s - 1 - y;
                const int swap = x;
                x = y, y = swap;
            }
            x += s * rx, y += s * ry;
            t /= 4;
        }
        return make_int2(x, y);
    }
    return place_of_tile(tile, tiles_m, tiles_n, 8);
#else
    return place_of_tile(tile, tiles_m, tiles_n, BAND_ROWS);
#endif
}

__global__ void __launch_bounds__(THREADS, 1)
gemm_17_fp8(int m, int n, int k, const __grid_constant__ CUtensorMap a_map, const __grid_constant__ CUtensorMap b_map,
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
#if G_EARLY
        const int2 at = place(cluster, tiles_m, tiles_n);
        for (int s = 0; s < STAGES && s < slabs; ++s) {
            barrier_expect(full + 8 * s, A_BYTES + B_BYTES);
            copy_box(as + s * A_BYTES, &a_map, full + 8 * s, s * BK, (at.x * CLUSTER + rank) * BM);
        }
#endif
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
                const int2 at = place(tile, tiles_m, tiles_n);
                const int row0 = (at.x * CLUSTER + rank) * BM, col0 = at.y * BN;
                for (int slab = 0; slab < slabs; ++slab, advance()) {
                    if (!G_EARLY || tile != cluster || slab >= STAGES) {
                        barrier_wait(empty + 8 * stage, parity ^ 1);
                        barrier_expect(full + 8 * stage, A_BYTES + B_BYTES);
                        copy_box(as + stage * A_BYTES, &a_map, full + 8 * stage, slab * BK, row0);
                    }
                    copy_box_to_all(bs + stage * B_BYTES + rank * (B_BYTES / CLUSTER), &b_map, full + 8 * stage, slab * BK,
                                    col0 + rank * (BN / CLUSTER), (1 << CLUSTER) - 1);
                }
            }
        }
    } else {
        take_registers<232>();
        const int warp = threadIdx.x % 128 / 32, lane = threadIdx.x % 32;
        const auto release = [&](int done) {
            if (lane == 0 && warp < CLUSTER) barrier_arrive_at(empty + 8 * done, warp);
        };
        uint32_t boxes = cs + ((group - 1) * 4 + warp) * 2 * C_BOX_BYTES;
        __nv_bfloat162 leaving[BN / 4];
        int row0 = 0, col0 = -1;
        const auto send = [&](int box, uint32_t to) {
#pragma unroll
            for (int pair = 0; pair < C_COLUMNS / 4; ++pair) {  // the upper or the lower 8 rows of 8 columns
                const int row = pair % 2 * 8 + lane / 4, piece = (pair / 2) ^ (row % 8);
                store_shared(to + row * 128 + piece * 16 + lane % 4 * 4, leaving[box * C_COLUMNS / 4 + pair]);
            }
            fence_async();
            __syncwarp();
            if (lane == 0) {
                store_box(&c_map, to, col0 + box * C_COLUMNS, row0);
                store_box_commit();
            }
        };
        const auto send_next = [&](int box) {
            if (lane == 0) store_box_wait_read<1>();  // the box before the last one has left this place
            __syncwarp();
            send(box, boxes + box % 2 * C_BOX_BYTES);
        };
#if G_LAG
        if (group == 2) asm volatile("bar.sync 1, 256;" ::: "memory");
        bool first = group == 1;
#endif
        for (int tile = cluster; tile < tiles_m * tiles_n; tile += clusters) {
            float sum[128];
            for (int slab = 0; slab < slabs; ++slab, advance()) {
                barrier_wait(full + 8 * stage, parity);
                const uint64_t a_part = matrix_descriptor(as + stage * A_BYTES + (group - 1) * 64 * 128, 16, 1024);
                const uint64_t b_part = matrix_descriptor(bs + stage * B_BYTES, 16, 1024);
                wgmma_fence();
#pragma unroll
                for (int kk = 0; kk < BK / 32; ++kk)
                    wgmma_64x256x32(sum, a_part + (kk * 32 >> 4), b_part + (kk * 32 >> 4), slab + kk > 0);
                wgmma_commit();
#if G_DEFER
                if (col0 >= 0 && slab < C_BOXES * G_SPREAD) {
#pragma unroll
                    for (int box = 0; box < C_BOXES; ++box)
                        if (slab == box * G_SPREAD) send_next(box);
                }
#endif
#if G_INFLIGHT
                if (slab > 0) {
                    wgmma_wait<1>();
                    release(stage == 0 ? STAGES - 1 : stage - 1);
                }
#else
                wgmma_wait<0>();
                release(stage);
#endif
#if G_LAG
                if (first && slab == G_LAG - 1) {
                    asm volatile("bar.arrive 1, 256;" ::: "memory");
                    first = false;
                }
#endif
            }
#if G_INFLIGHT
            wgmma_wait<0>();
            release(stage == 0 ? STAGES - 1 : stage - 1);
#endif
#if G_DEFER
            if (col0 >= 0 && slabs < C_BOXES * G_SPREAD) {
#pragma unroll
                for (int box = 0; box < C_BOXES; ++box)
                    if (slabs <= box * G_SPREAD) send_next(box);
            }
#endif
            wgmma_settle(sum);
#pragma unroll
            for (int i = 0; i < BN / 4; ++i) leaving[i] = __floats2bfloat162_rn(sum[2 * i], sum[2 * i + 1]);
            const int2 at = place(tile, tiles_m, tiles_n);
            row0 = (at.x * CLUSTER + rank) * BM + (group - 1) * 64 + warp * 16, col0 = at.y * BN;
#if !G_DEFER
#pragma unroll
            for (int box = 0; box < C_BOXES; ++box) send_next(box);
#endif
        }
#if G_LAG
        if (first) asm volatile("bar.arrive 1, 256;" ::: "memory");
#endif
#if G_DEFER
        if (col0 >= 0) {
#if G_FINAL
            // Nothing is left to multiply: the last tile leaves through the slabs' memory, all boxes at once.
            asm volatile("bar.sync 2, 256;" ::: "memory");
            const uint32_t free = as + ((group - 1) * 4 + warp) * C_BOXES * C_BOX_BYTES;
#pragma unroll
            for (int box = 0; box < C_BOXES; ++box) send(box, free + box * C_BOX_BYTES);
#else
#pragma unroll
            for (int box = 0; box < C_BOXES; ++box) send_next(box);
#endif
        }
#endif
        if (lane == 0) store_box_wait_read<0>();
    }
    cluster_sync();
#endif
}

void launch(const harness::Gemm<harness::e4m3, bf16>& g) {
    if (!target_has_wgmma()) harness::fail(harness::UNSUPPORTED, "this rung is written for sm_90a");
    if (g.n % 8 || g.k % 16)
        harness::fail(harness::UNSUPPORTED, "n must be a multiple of 8 and k of 16, not %d and %d", g.n, g.k);
    const int64_t tiles = int64_t(harness::tiles(g.m, CLUSTER * BM)) * harness::tiles(g.n, BN);
    launch_persistent(gemm_17_fp8, CLUSTER, THREADS, SHARED_BYTES, tiles, g.m, g.n, g.k,
                      harness::tensor_map(g.a, g.m, g.k, BM, BK, CU_TENSOR_MAP_SWIZZLE_128B),
                      harness::tensor_map(g.b, g.n, g.k, BN / CLUSTER, BK, CU_TENSOR_MAP_SWIZZLE_128B),
                      harness::tensor_map(g.c, g.m, g.n, 16, C_COLUMNS, CU_TENSOR_MAP_SWIZZLE_128B));
}

int main(int argc, char** argv) { return harness::run<harness::Multiplication<harness::e4m3, bf16>>(argc, argv, {"17_fp8", launch}); }
