// Rung 10: the multiplications move to the tensor cores, in BF16 with FP32 accumulation.
//
// Change from rung 9: FMAs become matrix instructions. On sm_90a: wgmma straight from shared memory, slabs brought by the
// tensor copy engine (TMA) and shared by the two blocks of a cluster, one warp copying while two warp groups multiply.
// Elsewhere, and for rows that are not multiples of 16 bytes, which TMA refuses: mma.sync from ldmatrix and cp.async.
// Expect: FMA pipe idle, tensor pipe near its peak, and hardly any issue slots used: the instructions are huge.
//
//                      +-------256-------+         cluster: 256 x 256 of C, two blocks of 128 x 256
//                      |   Bs, shared    | 64      block: 3 warp groups; 0 copies, 1 and 2 multiply
//                      +-----------------+         warp group: 64 x 256 of C in 128 registers a thread,
//       +--64--+       +-----------------+         by four 64 x 256 x 16 wgmma per slab
//   128 |  As  | rank 0| group 1, 64 rows|
//       |      |       | group 2, 64 rows|         each block fetches its As and half of Bs, and multicasts
//       +------+       +-----------------+         that half to both: 16 KB + 16 KB for 128 x 256 x 64 FMAs
//   128 |  As  | rank 1| the other block |
//       +------+       +-----------------+         4 slabs of 48 KB under way, a full and an empty barrier each
//
// Blocks are persistent: each walks over tiles, and the copies of the next tile run under the stores of this one.
#include "harness.cuh"
#include "hopper.cuh"
#include "persistent.cuh"

using bf16 = __nv_bfloat16;

constexpr int BM = 128, BN = 256, BK = 64, STAGES = 4, CLUSTER = 2, CONSUMERS = 2;
constexpr int THREADS = 128 * (1 + CONSUMERS), GROUP_M = 8;
constexpr int A_BYTES = BM * BK * 2, B_BYTES = BK * BN * 2, BOX_BYTES = BK * 64 * 2;
constexpr int SHARED_BYTES = STAGES * (A_BYTES + B_BYTES) + 2 * STAGES * 8 + 1024;
static_assert(BM == 64 * CONSUMERS && BN == 256, "each consumer issues wgmma of 64 x 256");
static_assert(BN / 64 * BOX_BYTES == B_BYTES, "Bs is a row of boxes, 64 columns each");
static_assert(BK * 2 == 128, "a row of As is one 128-byte swizzle row");
static_assert(SHARED_BYTES <= 227 * 1024, "a Hopper block has at most 227 KB of shared memory");

__global__ void __launch_bounds__(THREADS, 1)
gemm_10_tensor_cores(int m, int n, int k, const __grid_constant__ CUtensorMap a_map, const __grid_constant__ CUtensorMap b_map,
                     float* __restrict__ c) {
#if TARGET_HAS_WGMMA
    extern __shared__ uint8_t shared[];
    const uint32_t as = (shared_address(shared) + 1023) & ~1023u, bs = as + STAGES * A_BYTES;
    const uint32_t full = bs + STAGES * B_BYTES, empty = full + STAGES * 8;
    const uint32_t rank = rank_in_cluster();
    const int group = threadIdx.x / 128, cluster = blockIdx.x / CLUSTER, clusters = gridDim.x / CLUSTER;
    const int tiles_m = (m + CLUSTER * BM - 1) / (CLUSTER * BM), tiles_n = (n + BN - 1) / BN;
    const int slabs = (k + BK - 1) / BK;
    if (threadIdx.x == 0) {
        for (int s = 0; s < STAGES; ++s) {
            barrier_init(full + 8 * s, 1);
            barrier_init(empty + 8 * s, CLUSTER * CONSUMERS);
        }
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
                const int2 place = place_of_tile(tile, tiles_m, tiles_n, GROUP_M);
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
        const int thread = threadIdx.x % 128;
        const auto release = [&](int done) {
            if (thread % 32 == 0 && thread / 32 < CLUSTER) barrier_arrive_at(empty + 8 * done, thread / 32);
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
                    wgmma_64_rows(sum, a_part + (kk * 32 >> 4), b_part + (kk * 2048 >> 4), slab + kk > 0);
                wgmma_commit();
                wgmma_wait<0>();
                release(stage);
            }
            const int2 place = place_of_tile(tile, tiles_m, tiles_n, GROUP_M);
            const int row = (place.x * CLUSTER + rank) * BM + (group - 1) * 64 + thread / 32 * 16 + thread % 32 / 4;
            const int col = place.y * BN + thread % 4 * 2;
            float* at = c + size_t(row) * n + col;
#pragma unroll
            for (int j = 0; j < BN / 8; ++j) {
                const bool in_row = col + 8 * j < n;
                if (in_row && row < m) *reinterpret_cast<float2*>(at + 8 * j) = make_float2(sum[4 * j], sum[4 * j + 1]);
                if (in_row && row + 8 < m)
                    *reinterpret_cast<float2*>(at + size_t(8) * n + 8 * j) = make_float2(sum[4 * j + 2], sum[4 * j + 3]);
            }
        }
    }
    cluster_sync();
#endif
}

// The path for every other target and every other shape: 128 x 128 x 32 a block, 64 x 32 a warp, three slabs under way.
namespace fallback {

constexpr int BM = 128, BN = 128, BK = 32, STAGES = 3, THREADS = 256;
constexpr int WM = 64, WN = 32, A_STRIDE = BK + 8, B_STRIDE = BN + 8;  // padded: the 8 rows of an ldmatrix miss each other
constexpr int A_SLAB = BM * A_STRIDE, B_SLAB = BK * B_STRIDE, SHARED_BYTES = STAGES * (A_SLAB + B_SLAB) * 2;
static_assert((BM / WM) * (BN / WN) * 32 == THREADS, "warp tiles must cover the block tile");
static_assert(BM * BK == 2 * 8 * THREADS && BK * BN == 2 * 8 * THREADS, "each thread copies two 16-byte pieces of each slab");

template <bool FULL>
__device__ void copy_8(bf16* to, const bf16* at, int valid) {
    if constexpr (FULL) {
        copy_async_4<true>(shared_address(to), reinterpret_cast<const float*>(at), 8);
    } else {
        for (int i = 0; i < 8; ++i) to[i] = i < valid ? at[i] : bf16(0.0f);
    }
}

template <bool FULL>
__global__ void __launch_bounds__(THREADS, 2)
gemm_10_tensor_cores_mma(int m, int n, int k, const bf16* __restrict__ a, const bf16* __restrict__ b, float* __restrict__ c) {
    extern __shared__ uint8_t shared[];
    bf16* const as = reinterpret_cast<bf16*>(shared);
    bf16* const bs = as + STAGES * A_SLAB;
    const int row0 = blockIdx.y * BM, col0 = blockIdx.x * BN;
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int warp_row = warp / (BN / WN) * WM, warp_col = warp % (BN / WN) * WN;
    const int slabs = (k + BK - 1) / BK;
    const auto copy_slab = [&](int slab) {
        const int stage = slab % STAGES, k0 = slab * BK;
#pragma unroll
        for (int piece = threadIdx.x; slab < slabs && piece < BM * BK / 8; piece += THREADS) {
            const int ay = piece / (BK / 8), ax = piece % (BK / 8) * 8, by = piece / (BN / 8), bx = piece % (BN / 8) * 8;
            copy_8<FULL>(as + stage * A_SLAB + ay * A_STRIDE + ax, a + size_t(row0 + ay) * k + k0 + ax,
                         row0 + ay < m ? k - k0 - ax : 0);
            copy_8<FULL>(bs + stage * B_SLAB + by * B_STRIDE + bx, b + size_t(k0 + by) * n + col0 + bx,
                         k0 + by < k ? n - col0 - bx : 0);
        }
        copy_async_commit();
    };
    float sum[WM / 16][WN / 8][4] = {};
    for (int slab = 0; slab < STAGES - 1; ++slab) copy_slab(slab);
    for (int slab = 0; slab < slabs; ++slab) {
        copy_async_wait<STAGES - 2>();
        __syncthreads();
        copy_slab(slab + STAGES - 1);
        // The lane's row and 8-column piece of each 16 x 16 tile that one ldmatrix fetches.
        const bf16* a_from = as + slab % STAGES * A_SLAB + (warp_row + lane % 16) * A_STRIDE + lane / 16 * 8;
        const bf16* b_from = bs + slab % STAGES * B_SLAB + lane % 16 * B_STRIDE + warp_col + lane / 16 * 8;
#pragma unroll
        for (int kk = 0; kk < BK; kk += 16) {
            uint32_t a_part[WM / 16][4], b_part[WN / 16][4];
#pragma unroll
            for (int i = 0; i < WM / 16; ++i) load_matrix_4<false>(a_part[i], shared_address(a_from + i * 16 * A_STRIDE + kk));
#pragma unroll
            for (int j = 0; j < WN / 16; ++j) load_matrix_4<true>(b_part[j], shared_address(b_from + kk * B_STRIDE + j * 16));
#pragma unroll
            for (int i = 0; i < WM / 16; ++i)
#pragma unroll
                for (int j = 0; j < WN / 8; ++j)
                    mma_16x8x16(sum[i][j], a_part[i], b_part[j / 2][j % 2 * 2], b_part[j / 2][j % 2 * 2 + 1]);
        }
    }
#pragma unroll
    for (int i = 0; i < WM / 16; ++i)
#pragma unroll
        for (int j = 0; j < WN / 8; ++j)
#pragma unroll
            for (int e = 0; e < 4; ++e) {
                const int row = row0 + warp_row + i * 16 + lane / 4 + e / 2 * 8, col = col0 + warp_col + j * 8 + lane % 4 * 2 + e % 2;
                store_1<FULL>(c + size_t(row) * n + col, row < m ? n - col : 0, sum[i][j][e]);
            }
}

void launch(const harness::Gemm<bf16>& g) {
    const dim3 grid = harness::grid_of_tiles(g.m, g.n, BM, BN);
    const bool full = g.m % BM == 0 && g.n % BN == 0 && g.k % BK == 0;
    const auto kernel = full ? gemm_10_tensor_cores_mma<true> : gemm_10_tensor_cores_mma<false>;
    CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, SHARED_BYTES));
    kernel<<<grid, THREADS, SHARED_BYTES>>>(g.m, g.n, g.k, g.a, g.b, g.c);
}

}  // namespace fallback

void launch(const harness::Gemm<bf16>& g) {
    if (!target_has_wgmma() || g.n % 8 || g.k % 8) return fallback::launch(g);
    const int64_t tiles = int64_t(harness::tiles(g.m, CLUSTER * BM)) * harness::tiles(g.n, BN);
    launch_persistent(gemm_10_tensor_cores, CLUSTER, THREADS, SHARED_BYTES, tiles, g.m, g.n, g.k,
                      harness::tensor_map(g.a, g.m, g.k, BM, 64, CU_TENSOR_MAP_SWIZZLE_128B),
                      harness::tensor_map(g.b, g.k, g.n, BK, 64, CU_TENSOR_MAP_SWIZZLE_128B), g.c);
}

int main(int argc, char** argv) { return harness::run<harness::Multiplication<bf16>>(argc, argv, {"10_tensor_cores", launch}); }
