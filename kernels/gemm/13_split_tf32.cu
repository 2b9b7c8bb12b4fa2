// Rung 13: FP32 results from the tensor cores, as three products in TF32.
//
// Change from rung 12: every element is split in two TF32 numbers, x = high + low, and a product of two FP32 numbers becomes
// low * high + high * low + high * high; what is left out, low * low, is about as small as an FP32 rounding error. The tensor
// cores cut their sums off instead of rounding them, so no sum there is longer than one slab: FADDs carry it on.
// Expect: three times the tensor work of rung 12 for the same bytes, so no cluster is needed; FMA pipe busy with
// splitting and adding, a few percent; error as that of the FP32 rungs, and held to their threshold.
//
//      TMA ---> As (raw) ---split by warps 1-3---> As low          warp group 0: one thread copies, three warps split As
//      TMA ---> Bs ---> registers ---split---> high, low           warp groups 1, 2: 64 columns of B x 128 rows of A each
//
//                         sum  +=  low(B) * As + high(B) * As low + high(B) * As       64 registers, and 64 of this slab
//
// The high part needs no instruction: the tensor cores read FP32 and leave out the lowest 13 bits.
// Block: 128 x 128 of C, slabs of 32, 4 under way (As, As low and Bs: 48 KB each). Lanes hold columns as in rung 12.
// An infinite element makes NaN here (inf - inf) where FP32 might keep it infinite.
// For sm_90a, and rows of multiples of 16 bytes, which TMA asks for; refuses everything else.
#include "harness.cuh"
#include "hopper.cuh"
#include "persistent.cuh"

constexpr int BM = 128, BN = 128, BK = 32, STAGES = 4, CONSUMERS = 2;
[[maybe_unused]] constexpr int SPLITTERS = 3;   // warps
constexpr int THREADS = 128 * (1 + CONSUMERS);
[[maybe_unused]] constexpr int BAND_ROWS = 16;  // of tiles
constexpr int ROW_BYTES = BK * 4;               // of every box in shared memory: one swizzle row
constexpr int A_BYTES = BM * ROW_BYTES, B_BOX_BYTES = BK * ROW_BYTES, B_BYTES = BN / 32 * B_BOX_BYTES;
constexpr int C_ROWS = 32, C_BOX_BYTES = C_ROWS * ROW_BYTES;
constexpr int SHARED_BYTES = STAGES * (2 * A_BYTES + B_BYTES) + CONSUMERS * 4 * C_BOX_BYTES + 3 * STAGES * 8 + 1024;
static_assert(BN == 64 * CONSUMERS && BM == 128, "each consumer issues wgmma of 64 x 128");
static_assert(ROW_BYTES == 128, "a row of a box is one 128-byte swizzle row");
static_assert(SHARED_BYTES <= 227 * 1024, "a Hopper block has at most 227 KB of shared memory");

// What TF32 leaves out of an FP32 number, as an FP32 number. Exact.
__device__ __forceinline__ float low_part(uint32_t bits) {
    return __uint_as_float(bits) - __uint_as_float(bits & 0xFFFFE000u);
}

__global__ void __launch_bounds__(THREADS, 1)
gemm_13_split_tf32(int m, int n, int k, const __grid_constant__ CUtensorMap a_map, const __grid_constant__ CUtensorMap b_map,
                   const __grid_constant__ CUtensorMap c_map) {
#if TARGET_HAS_WGMMA
    extern __shared__ uint8_t shared[];
    const uint32_t as = (shared_address(shared) + 1023) & ~1023u, as_low = as + STAGES * A_BYTES;
    const uint32_t bs = as_low + STAGES * A_BYTES, cs = bs + STAGES * B_BYTES;
    const uint32_t full = cs + CONSUMERS * 4 * C_BOX_BYTES, split = full + STAGES * 8, empty = split + STAGES * 8;
    const int group = threadIdx.x / 128, thread = threadIdx.x % 128, warp = thread / 32, lane = thread % 32;
    const int tiles_m = (m + BM - 1) / BM, tiles_n = (n + BN - 1) / BN, slabs = (k + BK - 1) / BK;
    if (threadIdx.x == 0) {
        for (int s = 0; s < STAGES; ++s) {
            barrier_init(full + 8 * s, 1);
            barrier_init(split + 8 * s, SPLITTERS);
            barrier_init(empty + 8 * s, CONSUMERS);
        }
        for (const CUtensorMap* map : {&a_map, &b_map, &c_map}) prefetch_map(map);
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();
    int stage = 0, parity = 0;
    const auto advance = [&] {
        if (++stage == STAGES) stage = 0, parity ^= 1;
    };
    if (group == 0) {
        give_registers<56>();
        if (thread == 0) {
            for (int tile = blockIdx.x; tile < tiles_m * tiles_n; tile += gridDim.x) {
                const int2 place = place_of_tile(tile, tiles_m, tiles_n, BAND_ROWS);
                for (int slab = 0; slab < slabs; ++slab, advance()) {
                    barrier_wait(empty + 8 * stage, parity ^ 1);
                    barrier_expect(full + 8 * stage, A_BYTES + B_BYTES);
                    copy_box(as + stage * A_BYTES, &a_map, full + 8 * stage, slab * BK, place.x * BM);
                    for (int box = 0; box < BN / 32; ++box)
                        copy_box(bs + stage * B_BYTES + box * B_BOX_BYTES, &b_map, full + 8 * stage, place.y * BN + box * 32,
                                 slab * BK);
                }
            }
        } else if (warp > 0) {
            for (int tile = blockIdx.x; tile < tiles_m * tiles_n; tile += gridDim.x) {
                for (int slab = 0; slab < slabs; ++slab, advance()) {
                    barrier_wait(full + 8 * stage, parity);
                    const uint32_t from = as + stage * A_BYTES, to = as_low + stage * A_BYTES;
#pragma unroll 4
                    for (int at = (thread - 32) * 16; at < A_BYTES; at += SPLITTERS * 32 * 16) {
                        const uint4 bits = load_shared<uint4>(from + at);
                        store_shared(to + at, make_float4(low_part(bits.x), low_part(bits.y), low_part(bits.z), low_part(bits.w)));
                    }
                    fence_async();
                    __syncwarp();
                    if (lane == 0) barrier_arrive(split + 8 * stage);
                }
            }
        }
    } else {
        take_registers<224>();
        // Two warps share 32 columns of C, a barrier and two boxes to send them away in.
        const int pair = (group - 1) * 2 + warp / 2 + 1;
        const bool first_of_pair = warp % 2 == 0 && lane == 0;
        const uint32_t boxes = cs + (pair - 1) * 2 * C_BOX_BYTES;
        // This lane's two columns within its warp's box of 32: 16-byte pieces first_piece and the one after, word `word`.
        const int first_piece = lane / 16 * 4 + warp % 2 * 2, word = lane / 4 % 4;
        const uint32_t b_box = bs + (pair - 1) * B_BOX_BYTES + word * 4;
        for (int tile = blockIdx.x; tile < tiles_m * tiles_n; tile += gridDim.x) {
            float sum[64] = {};
            for (int slab = 0; slab < slabs; ++slab, advance()) {
                barrier_wait(full + 8 * stage, parity);
                uint32_t high[BK / 8][4], low[BK / 8][4];
#pragma unroll
                for (int kk = 0; kk < BK / 8; ++kk)
#pragma unroll
                    for (int i = 0; i < 4; ++i) {  // column 0 or 1 of the lane, k 0..3 or 4..7
                        const int row = kk * 8 + i / 2 * 4 + lane % 4, piece = (first_piece + i % 2) ^ (row % 8);
                        high[kk][i] = load_shared<uint32_t>(b_box + stage * B_BYTES + row * ROW_BYTES + piece * 16);
                        low[kk][i] = __float_as_uint(low_part(high[kk][i]));
                    }
                barrier_wait(split + 8 * stage, parity);
                const uint64_t a_high = matrix_descriptor(as + stage * A_BYTES, 16, 1024);
                const uint64_t a_low = matrix_descriptor(as_low + stage * A_BYTES, 16, 1024);
                float part[64];
                wgmma_fence();
#pragma unroll
                for (int kk = 0; kk < BK / 8; ++kk) {
                    wgmma_64_rows(part, low[kk], a_high + (kk * 32 >> 4), kk > 0);
                    wgmma_64_rows(part, high[kk], a_low + (kk * 32 >> 4), true);
                    wgmma_64_rows(part, high[kk], a_high + (kk * 32 >> 4), true);
                }
                wgmma_commit();
                wgmma_wait<0>();
                wgmma_settle(part);
                wgmma_keep(high);
                wgmma_keep(low);
                if (thread == 0) barrier_arrive(empty + 8 * stage);
#pragma unroll
                for (int i = 0; i < 64; ++i) sum[i] += part[i];
            }
            const int2 place = place_of_tile(tile, tiles_m, tiles_n, BAND_ROWS);
            const int row0 = place.x * BM, col0 = place.y * BN + (pair - 1) * 32;
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
        }
        if (first_of_pair) store_box_wait_read<0>();
    }
#endif
}

void launch(const harness::Gemm<float>& g) {
    if (!target_has_wgmma()) harness::fail(harness::UNSUPPORTED, "this rung is written for sm_90a");
    if (g.n % 4 || g.k % 4) harness::fail(harness::UNSUPPORTED, "n and k must be multiples of 4, not %d and %d", g.n, g.k);
    const int64_t tiles = int64_t(harness::tiles(g.m, BM)) * harness::tiles(g.n, BN);
    launch_persistent(gemm_13_split_tf32, 1, THREADS, SHARED_BYTES, tiles, g.m, g.n, g.k,
                      harness::tensor_map(g.a, g.m, g.k, BM, BK, CU_TENSOR_MAP_SWIZZLE_128B),
                      harness::tensor_map(g.b, g.k, g.n, BK, 32, CU_TENSOR_MAP_SWIZZLE_128B),
                      harness::tensor_map(g.c, g.m, g.n, C_ROWS, 32, CU_TENSOR_MAP_SWIZZLE_128B));
}

int main(int argc, char** argv) { return harness::run<harness::Multiplication<float>>(argc, argv, {"13_split_tf32", launch}); }
