// Rung 18: rung 12, whose last wave of tiles is cut along k.
//
// Change from rung 12: 256 tiles for 66 clusters are 3.88 waves, which take as long as 4. As in rung 14, the tiles of the incomplete wave are
// laid end to end, slab after slab, and cut into equal shares, one for each cluster, before the whole tiles. Who holds a tile's first slab
// adds what the others hand over through the L2, and stores the tile. All tiles have 256 rows.
// Expect: 113 slabs in place of 128 for a quarter of the work, 3 %, less what 15 MB of partial sums take there and back, about half
// of that; and a clock that falls as the tensor cores get busier.
//
//      slabs of the incomplete wave   |   tile 0   |   tile 1   |   tile 2   |  tile 3  ...
//      clusters                       |    0     |    1     |    2     |    3     | ...      then whole tiles
//
// All clusters fit the GPU at once, so nobody waits for one that may never start. A cluster begins with the end of a tile and hands it over
// while it works on the next one. Shared memory and the order of columns are those of rung 12.
// For sm_90a, and rows of multiples of 16 bytes, which TMA asks for; refuses everything else.
#include "harness.cuh"
#include "hopper.cuh"
#include "persistent.cuh"

using harness::tf32;

constexpr int BM = 256, BN = 128, BK = 32, STAGES = 4, CLUSTER = 2, CONSUMERS = 2;
constexpr int THREADS = 128 * (1 + CONSUMERS);
[[maybe_unused]] constexpr int BAND_ROWS = 8;     // of tiles
[[maybe_unused]] constexpr int LEAST_SHARE = 16;  // slabs
constexpr int ROW_BYTES = BK * 4;              // of every box in shared memory: one swizzle row
constexpr int A_BYTES = BM * ROW_BYTES, B_BOX_BYTES = BK * ROW_BYTES, B_BYTES = BN / 32 * B_BOX_BYTES;
constexpr int C_ROWS = 32, C_BOX_BYTES = C_ROWS * ROW_BYTES;
constexpr int SHARED_BYTES = STAGES * (A_BYTES + B_BYTES) + CONSUMERS * 4 * C_BOX_BYTES + 2 * STAGES * 8 + 1024;
static_assert(BN == 64 * CONSUMERS, "each consumer issues wgmma of 64 columns of B");
static_assert(ROW_BYTES == 128, "a row of a box is one 128-byte swizzle row");
static_assert(SHARED_BYTES <= 227 * 1024, "a Hopper block has at most 227 KB of shared memory");

// Partial sums of the warp groups, by their number in the whole grid. Each has at most one to hand over, and one other takes it.
struct Partial {
    float4* sums;     // 64 x 256 for each
    uint32_t* ready;  // whether they are there; whoever takes them resets this
};

#if TARGET_HAS_WGMMA
// Among the 128 threads of a warp group, by a number that no pair of warps has.
__device__ __forceinline__ void sync_group(int group) { asm volatile("bar.sync %0, 128;" ::"r"(4 + group) : "memory"); }

__device__ __forceinline__ void hand_over(const Partial& partial, int number, int group, const float (&sum)[BM / 2]) {
    float4* const to = partial.sums + size_t(number) * (64 * BM / 4) + threadIdx.x % 128;
#pragma unroll
    for (int i = 0; i < BM / 2; i += 4) __stcg(to + i / 4 * 128, make_float4(sum[i], sum[i + 1], sum[i + 2], sum[i + 3]));
    sync_group(group);
    if (threadIdx.x % 128 == 0) asm volatile("st.release.gpu.global.u32 [%0], 1;" ::"l"(partial.ready + number) : "memory");
}

__device__ __forceinline__ void take(const Partial& partial, int number, int group, float (&sum)[BM / 2]) {
    if (threadIdx.x % 128 == 0) {
        uint32_t is_ready;
        do asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(is_ready) : "l"(partial.ready + number) : "memory");
        while (!is_ready);
        partial.ready[number] = 0;
    }
    sync_group(group);
    const float4* const from = partial.sums + size_t(number) * (64 * BM / 4) + threadIdx.x % 128;
#pragma unroll
    for (int i = 0; i < BM / 2; i += 4) {
        const float4 more = __ldcg(from + i / 4 * 128);
        sum[i] += more.x, sum[i + 1] += more.y, sum[i + 2] += more.z, sum[i + 3] += more.w;
    }
}
#endif

__global__ void __launch_bounds__(THREADS, 1)
gemm_18_tf32_shares(int m, int n, int k, const __grid_constant__ CUtensorMap a_map, const __grid_constant__ CUtensorMap b_map,
                    const __grid_constant__ CUtensorMap c_map, Partial partial) {
#if TARGET_HAS_WGMMA
    extern __shared__ uint8_t shared[];
    const uint32_t as = (shared_address(shared) + 1023) & ~1023u, bs = as + STAGES * A_BYTES;
    const uint32_t cs = bs + STAGES * B_BYTES;
    const uint32_t full = cs + CONSUMERS * 4 * C_BOX_BYTES, empty = full + STAGES * 8;
    const uint32_t rank = rank_in_cluster();
    const int group = threadIdx.x / 128, cluster = blockIdx.x / CLUSTER, clusters = gridDim.x / CLUSTER;
    const int tiles_m = (m + BM - 1) / BM, tiles_n = (n + CLUSTER * BN - 1) / (CLUSTER * BN);
    const int slabs = (k + BK - 1) / BK;
    // The first tiles are cut into shares; `visit` gets a tile and the slabs of it that are this cluster's.
    const int tiles = tiles_m * tiles_n, cut_tiles = tiles % clusters;
    const int share = max((cut_tiles * slabs + clusters - 1) / clusters, min(slabs, LEAST_SHARE));
    const auto each_part = [&](const auto& visit) {
        const int end = min((cluster + 1) * share, cut_tiles * slabs);
        for (int at = cluster * share; at < end;) {
            const int tile = at / slabs, first = at - tile * slabs, past = min(slabs, first + end - at);
            visit(tile, first, past);
            at += past - first;
        }
        for (int tile = cut_tiles + cluster; tile < tiles; tile += clusters) visit(tile, 0, slabs);
    };
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
            each_part([&](int tile, int first, int past) {
                const int2 place = place_of_tile(tile, tiles_m, tiles_n, BAND_ROWS);
                const int half = rank * (BM / CLUSTER), row0 = place.x * BM + half, col0 = (place.y * CLUSTER + rank) * BN;
                for (int slab = first; slab < past; ++slab, advance()) {
                    barrier_wait(empty + 8 * stage, parity ^ 1);
                    barrier_expect(full + 8 * stage, A_BYTES + B_BYTES);
                    copy_box_to_all(as + stage * A_BYTES + half * ROW_BYTES, &a_map, full + 8 * stage, slab * BK, row0,
                                    (1 << CLUSTER) - 1);
                    for (int box = 0; box < BN / 32; ++box)
                        copy_box(bs + stage * B_BYTES + box * B_BOX_BYTES, &b_map, full + 8 * stage, col0 + box * 32, slab * BK);
                }
            });
            // The block may end once no consumer of the cluster will count down its barriers any more.
            for (int s = 0; s < STAGES; ++s, advance()) barrier_wait(empty + 8 * stage, parity ^ 1);
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
        each_part([&](int tile, int first, int past) {
            float sum[BM / 2];
            uint32_t b_part[BK / 8][4], b_next[BK / 8][4];
            read_columns(b_next);
            for (int slab = first; slab < past; ++slab) {
                memcpy(b_part, b_next, sizeof b_part);
                const int reading = stage;
                const uint64_t a_part = matrix_descriptor(as + reading * A_BYTES, 16, 1024);
                wgmma_fence();
#pragma unroll
                for (int kk = 0; kk < BK / 8; ++kk) wgmma_64_rows(sum, b_part[kk], a_part + (kk * 32 >> 4), slab > first || kk > 0);
                wgmma_commit();
                advance();
                if (slab + 1 < past) read_columns(b_next);  // under the multiplications
                wgmma_wait<0>();
                wgmma_keep(b_part);
                if (lane == 0 && warp < CLUSTER) barrier_arrive_at(empty + 8 * reading, warp);
            }
            wgmma_settle(sum);
            // Groups are counted through the grid, 2 * CLUSTER of them a cluster.
            const int mine = int(blockIdx.x) * CONSUMERS + group - 1;
            if (first > 0) return hand_over(partial, mine, group, sum);
            for (int other = cluster + 1; past < slabs && other * share < (tile + 1) * slabs; ++other)
                take(partial, mine + (other - cluster) * CLUSTER * CONSUMERS, group, sum);
            const int2 place = place_of_tile(tile, tiles_m, tiles_n, BAND_ROWS);
            const int row0 = place.x * BM, col0 = (place.y * CLUSTER + rank) * BN + (pair - 1) * 32;
#pragma unroll
            for (int band = 0; band < BM / C_ROWS; ++band) {
                const uint32_t to = boxes + band % 2 * C_BOX_BYTES;
                if (first_of_pair) store_box_wait_read<1>();  // the band before the last one has left this place
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
        });
        if (first_of_pair) store_box_wait_read<0>();
    }
#endif
}

void launch(const harness::Gemm<tf32>& g) {
    if (!target_has_wgmma()) harness::fail(harness::UNSUPPORTED, "this rung is written for sm_90a");
    if (g.n % 4 || g.k % 4) harness::fail(harness::UNSUPPORTED, "n and k must be multiples of 4, not %d and %d", g.n, g.k);
    static const int blocks = [] {
        int device, processors;
        CUDA_CHECK(cudaGetDevice(&device));
        CUDA_CHECK(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device));
        return processors;
    }();
    static harness::DeviceBuffer<float4> sums(size_t(blocks) * (BM * BN / 4));
    static harness::DeviceBuffer<uint32_t> ready(blocks * CONSUMERS);
    static const bool none_is_ready = (ready.fill_bytes(0), true);
    (void)none_is_ready;
    launch_persistent(gemm_18_tf32_shares, CLUSTER, THREADS, SHARED_BYTES, blocks / CLUSTER, g.m, g.n, g.k,
                      harness::tensor_map(g.a, g.m, g.k, BM / CLUSTER, BK, CU_TENSOR_MAP_SWIZZLE_128B),
                      harness::tensor_map(g.b, g.k, g.n, BK, 32, CU_TENSOR_MAP_SWIZZLE_128B),
                      harness::tensor_map(g.c, g.m, g.n, C_ROWS, 32, CU_TENSOR_MAP_SWIZZLE_128B), Partial{sums.data(), ready.data()});
}

int main(int argc, char** argv) { return harness::run<harness::Multiplication<tf32>>(argc, argv, {"18_tf32_shares", launch}); }
