// Rung 12: FP32 matrices, multiplied in TF32.
//
// Change from rung 11: the elements are FP32 in memory and TF32 in the tensor cores. For them wgmma takes operands from shared
// memory only where k is adjacent: rows of A are, columns of B are not. So the product is turned around: C^T = B^T A^T,
// with B^T handed over in registers, which four scalar LDS fill for each wgmma, and A read where it lies.
// Expect: half the tensor rate of rung 11 at the same bytes per second; some LSU work between the matrix instructions.
//
// A tile has 256 rows, or fewer where that fills the last wave of tiles better: 5000 x 5000 is 6.06 waves of 256 x 256, which take
// as long as 7, and 6.97 waves of 224 x 256.
//
//                      +--128--+-------+        cluster: 256 x 256 of C, two blocks of 256 x 128
//                      | Bs    |  other| 32     block: 3 warp groups; 0 copies, 1 and 2 multiply
//                      +-1-+-2-+-block-+        warp group: 64 columns of B x 256 rows of A, in 128 registers a thread,
//       +--32--+       +---+---+-------+          by four 64 x 256 x 8 wgmma per slab
//   256 |  As  |       |   |   |       |
//       |shared|       |   |   |       |        each block fetches its Bs and half of As, and multicasts that half
//       +------+       +---+---+-------+        4 slabs of 48 KB under way
//
// Which column of B a lane holds is free, so long as C is stored accordingly. Columns l / 4 % 4 + 16 (l / 16) + 4 q let the
// 32 lanes of a fragment load meet 32 banks in the 128-byte swizzle; adjacent columns would meet in pairs.
// For sm_90a, and rows of multiples of 16 bytes, which TMA asks for; refuses everything else.
#include "harness.cuh"
#include "hopper.cuh"
#include "persistent.cuh"

using harness::tf32;

constexpr int BN = 128, BK = 32, STAGES = 4, CLUSTER = 2, CONSUMERS = 2;
constexpr int THREADS = 128 * (1 + CONSUMERS);
[[maybe_unused]] constexpr int BAND_ROWS = 8;  // of tiles
constexpr int ROW_BYTES = BK * 4;              // of every box in shared memory: one swizzle row
constexpr int B_BOX_BYTES = BK * ROW_BYTES, B_BYTES = BN / 32 * B_BOX_BYTES;
constexpr int C_ROWS = 32, C_BOX_BYTES = C_ROWS * ROW_BYTES;
template <int BM>
constexpr int SHARED_BYTES = STAGES * (BM * ROW_BYTES + B_BYTES) + CONSUMERS * 4 * C_BOX_BYTES + 2 * STAGES * 8 + 1024;
static_assert(BN == 64 * CONSUMERS, "each consumer issues wgmma of 64 columns of B");
static_assert(ROW_BYTES == 128, "a row of a box is one 128-byte swizzle row");
static_assert(SHARED_BYTES<256> <= 227 * 1024, "a Hopper block has at most 227 KB of shared memory");

template <int BM>
__global__ void __launch_bounds__(THREADS, 1)
gemm_12_tf32(int m, int n, int k, const __grid_constant__ CUtensorMap a_map, const __grid_constant__ CUtensorMap b_map,
             const __grid_constant__ CUtensorMap c_map) {
#if TARGET_HAS_WGMMA
    constexpr int A_BYTES = BM * ROW_BYTES;
    extern __shared__ uint8_t shared[];
    const uint32_t as = (shared_address(shared) + 1023) & ~1023u, bs = as + STAGES * A_BYTES;
    const uint32_t cs = bs + STAGES * B_BYTES;
    const uint32_t full = cs + CONSUMERS * 4 * C_BOX_BYTES, empty = full + STAGES * 8;
    const uint32_t rank = rank_in_cluster();
    const int group = threadIdx.x / 128, cluster = blockIdx.x / CLUSTER, clusters = gridDim.x / CLUSTER;
    const int tiles_m = (m + BM - 1) / BM, tiles_n = (n + CLUSTER * BN - 1) / (CLUSTER * BN);
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
                const int half = rank * (BM / CLUSTER), row0 = place.x * BM + half, col0 = (place.y * CLUSTER + rank) * BN;
                for (int slab = 0; slab < slabs; ++slab, advance()) {
                    barrier_wait(empty + 8 * stage, parity ^ 1);
                    barrier_expect(full + 8 * stage, A_BYTES + B_BYTES);
                    copy_box_to_all(as + stage * A_BYTES + half * ROW_BYTES, &a_map, full + 8 * stage, slab * BK, row0,
                                    (1 << CLUSTER) - 1);
                    for (int box = 0; box < BN / 32; ++box)
                        copy_box(bs + stage * B_BYTES + box * B_BOX_BYTES, &b_map, full + 8 * stage, col0 + box * 32, slab * BK);
                }
            }
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
        // Waits for a slab and reads this lane's two columns of its Bs.
        const auto read_columns = [&](uint32_t (&to)[BK / 8][4]) {
            barrier_wait(full + 8 * stage, parity);
#pragma unroll
            for (int kk = 0; kk < BK / 8; ++kk)
#pragma unroll
                for (int i = 0; i < 4; ++i) {  // column 0 or 1 of the lane, k 0..3 or 4..7
                    const int row = kk * 8 + i / 2 * 4 + lane % 4, piece = (first_piece + i % 2) ^ (row % 8);
                    to[kk][i] = load_shared<uint32_t>(b_box + stage * B_BYTES + row * ROW_BYTES + piece * 16);
                }
        };
        for (int tile = cluster; tile < tiles_m * tiles_n; tile += clusters) {
            float sum[BM / 2];
            uint32_t b_part[BK / 8][4], b_next[BK / 8][4];
            read_columns(b_next);
            for (int slab = 0; slab < slabs; ++slab) {
                memcpy(b_part, b_next, sizeof b_part);
                const int reading = stage;
                const uint64_t a_part = matrix_descriptor(as + reading * A_BYTES, 16, 1024);
                wgmma_fence();
#pragma unroll
                for (int kk = 0; kk < BK / 8; ++kk) wgmma_64_rows(sum, b_part[kk], a_part + (kk * 32 >> 4), slab + kk > 0);
                wgmma_commit();
                advance();
                if (slab + 1 < slabs) read_columns(b_next);  // under the multiplications
                wgmma_wait<0>();
                wgmma_keep(b_part);
                if (lane == 0 && warp < CLUSTER) barrier_arrive_at(empty + 8 * reading, warp);
            }
            wgmma_settle(sum);
            const int2 place = place_of_tile(tile, tiles_m, tiles_n, BAND_ROWS);
            const int row0 = place.x * BM, col0 = (place.y * CLUSTER + rank) * BN + (pair - 1) * 32;
#pragma unroll
            for (int band = 0; band < BM / C_ROWS; ++band) {
                const uint32_t to = boxes + band % 2 * C_BOX_BYTES;
                // The band before the last one has left this place; after a tile of an odd number of bands, so has the last one.
                if (first_of_pair && band == 0 && BM / C_ROWS % 2) store_box_wait_read<0>();
                else if (first_of_pair) store_box_wait_read<1>();
                sync_two_warps(pair);
#pragma unroll
                for (int i = 0; i < C_ROWS / 2; ++i) {  // in registers: row e of 2, column h of 2, then the next 8 rows
                    const int e = i % 2, h = i / 2 % 2, row = i / 4 * 8 + lane % 4 * 2 + e, piece = (first_piece + h) ^ (row % 8);
                    store_shared(to + row * ROW_BYTES + piece * 16 + word * 4,
                                 sum[band * C_ROWS / 2 + i]);
                }
                fence_async();
                sync_two_warps(pair);
                if (first_of_pair) {
                    store_box(&c_map, to, col0, row0 + band * C_ROWS);
                    store_box_commit();
                }
            }
        }
        if (first_of_pair) store_box_wait_read<0>();
    }
    cluster_sync();
#endif
}

template <int BM>
void launch_as(const harness::Gemm<tf32>& g) {
    const int64_t tiles = int64_t(harness::tiles(g.m, BM)) * harness::tiles(g.n, CLUSTER * BN);
    launch_persistent(gemm_12_tf32<BM>, CLUSTER, THREADS, SHARED_BYTES<BM>, tiles, g.m, g.n, g.k,
                      harness::tensor_map(g.a, g.m, g.k, BM / CLUSTER, BK, CU_TENSOR_MAP_SWIZZLE_128B),
                      harness::tensor_map(g.b, g.k, g.n, BK, 32, CU_TENSOR_MAP_SWIZZLE_128B),
                      harness::tensor_map(g.c, g.m, g.n, C_ROWS, 32, CU_TENSOR_MAP_SWIZZLE_128B));
}

// How long the tiles of this many rows take, in rows: those of the GPU's clusters run side by side, and each takes as long as 32 rows
// for its start and its stores.
int64_t cost(const harness::Gemm<tf32>& g, int rows) {
    static const int clusters = [] {
        int device, processors;
        CUDA_CHECK(cudaGetDevice(&device));
        CUDA_CHECK(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device));
        return processors / CLUSTER;
    }();
    const int64_t tiles = int64_t(harness::tiles(g.m, rows)) * harness::tiles(g.n, CLUSTER * BN);
    return (tiles + clusters - 1) / clusters * (rows + 32);
}

void launch(const harness::Gemm<tf32>& g) {
    if (!target_has_wgmma()) harness::fail(harness::UNSUPPORTED, "this rung is written for sm_90a");
    if (g.n % 4 || g.k % 4) harness::fail(harness::UNSUPPORTED, "n and k must be multiples of 4, not %d and %d", g.n, g.k);
    int rows = 256;
    for (int fewer : {224, 192, 128})
        if (cost(g, fewer) < cost(g, rows)) rows = fewer;
    if (rows == 256) launch_as<256>(g);
    else if (rows == 224) launch_as<224>(g);
    else if (rows == 192) launch_as<192>(g);
    else launch_as<128>(g);
}

int main(int argc, char** argv) { return harness::run<harness::Multiplication<tf32>>(argc, argv, {"12_tf32", launch}); }
