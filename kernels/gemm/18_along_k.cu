// Rung 18: A is read along k, and slabs come by the copy engine.
//
// Change from rung 14: there, A is transposed on its way into shared memory, number by number, and each k-step reads 4 LDS.128 for 64 FMAs.
// Here the copy engine lays slabs down as they are, and one LDS.128 of A brings four k of a row. A thread computes 8 x 16 elements: 24 LDS.128
// for 512 FMAs, and no instructions that copy. The back end of the compiler is told to keep the FMAs in their order (-Xptxas=-O1), in which
// neighbours share an operand, and sums leave the loop in such an order that each lies in another bank of registers than its factor of B.
// Expect: fewer instructions besides FMAs, fewer cycles in which two registers of a bank are asked for; slower where tiles are few.
//
//                      +--------128 columns---------+     warp: 32 rows x 128 columns; a thread has rows y, y + 4, ... y + 28
//                  32  |            Bs              |           and columns 4 x + 0..3 of each 32
//          32 k        +----------------------------+     turn of the loop: 8 k, as 4 + 4. While four k are multiplied,
//       +-------+      | warp 0                     |           - the next four of A come from shared memory,
//   128 |  As   |      | warp 1                     |           - and at each k the next row of B.
//       |       |      | warp 2                     |     three slabs of 32 KB, of which two are under way
//       +-------+      | warp 3                     |
//                      +----------------------------+
//
// For sm_90 and later, and rows of multiples of 16 bytes, which the copy engine asks for; refuses everything else.
#include "harness.cuh"
#include "hopper.cuh"
#include "ordered.cuh"
#include "stream_k.cuh"

constexpr int TM = 8, TN = 16, LANES_M = 4, LANES_N = 8;  // a thread's elements, and the lanes of a warp
constexpr int BM = 128, BN = LANES_N * TN, BK = 32, STAGES = 3;
[[maybe_unused]] constexpr int TURN = 8;  // k of a turn of the loop
constexpr int WARPS = BM / (LANES_M * TM), THREADS = 32 * WARPS, BLOCKS = 2;
constexpr int A_BYTES = BM * BK * 4, B_BYTES = BK * BN * 4, STAGE_BYTES = A_BYTES + B_BYTES;
constexpr int SHARED_BYTES = STAGES * STAGE_BYTES + 2 * STAGES * 8;
static_assert(BK * 4 == 128, "a row of As is one row of the 128-byte swizzle");
static_assert(TM * TN * THREADS * 4 <= STAGES * STAGE_BYTES, "the sums of a tile pass through the stages");

// Hands the sums to the instructions that store them. Those want four neighbours in adjacent registers, as four numbers of B are; written
// to shared memory with neighbours exchanged, the sum of an even column lies in an odd register and that of an odd column in an even one.
__device__ __forceinline__ void leave_registers(float (&sum)[TM][TN], uint32_t stages) {
    __syncthreads();  // nobody reads the slabs any more
#pragma unroll
    for (int i = 0; i < TM * TN; i += 4) {
        const float* s = &sum[i / TN][i % TN];
        store_shared(stages + (i / 4 * THREADS + threadIdx.x) * 16, make_float4(s[1], s[0], s[3], s[2]));
    }
#pragma unroll
    for (int i = 0; i < TM * TN; i += 4) {
        const float4 four = read_shared(stages + (i / 4 * THREADS + threadIdx.x) * 16);
        float* s = &sum[i / TN][i % TN];
        s[1] = four.x, s[0] = four.y, s[3] = four.z, s[2] = four.w;
    }
}

__global__ void __launch_bounds__(THREADS, BLOCKS)
gemm_18_along_k(int m, int n, int k, const __grid_constant__ CUtensorMap a_map, const __grid_constant__ CUtensorMap b_map, float* __restrict__ c,
                Plan plan) {
#if TARGET_HAS_TMA
    extern __shared__ __align__(1024) uint8_t shared[];
    const uint32_t stages = shared_address(shared), full = stages + STAGES * STAGE_BYTES, empty = full + 8 * STAGES;
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const uint32_t row_lane = lane % 2 + lane / 16 * 2;
    const int row = warp * LANES_M * TM + row_lane, col = lane / 2 % 8 * 4;
    const uint32_t a_part_at = stages + row * BK * 4, b_part_at = stages + A_BYTES + col * 4;
    if (threadIdx.x == 0) {
        for (int s = 0; s < STAGES; ++s) {
            barrier_init(full + 8 * s, 1);
            barrier_init(empty + 8 * s, WARPS);
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();
    int reading = 0, read_parity = 0, writing = 0, write_parity = 1;

    int slab = plan.begin();
    const int end = plan.end();
    while (slab < end) {  // a tile, or this block's part of one
        const int tile = slab / plan.slabs_of_tile, tile_begin = tile * plan.slabs_of_tile;
        const int row0 = tile / plan.tiles_across * BM, col0 = tile % plan.tiles_across * BN;
        const int slabs = min(end, tile_begin + plan.slabs_of_tile) - slab;
        int next_k = (slab - tile_begin) * BK, to_fetch = slabs;

        const auto fetch = [&] {  // one thread: the next slab, if there is one
            if (to_fetch-- <= 0) return;
            const uint32_t to = stages + writing * STAGE_BYTES, barrier = full + 8 * writing;
            barrier_wait(empty + 8 * writing, write_parity);
            barrier_expect(barrier, STAGE_BYTES);
            copy_box(to, &a_map, barrier, next_k, row0);
            copy_box(to + A_BYTES, &b_map, barrier, col0, next_k);
            next_k += BK;
            if (++writing == STAGES) writing = 0, write_parity ^= 1;
        };
        // Four k of this thread's row i, which the swizzle has in another place of each of eight rows.
        const auto read_a = [&](uint32_t at, int i) { return read_shared((i % 2 ? at ^ 64 : at) + i * LANES_M * BK * 4); };
        const auto read_b = [&](uint32_t at, int kk, int j) { return read_shared(at + kk * BN * 4 + j * LANES_N * 16); };

        if (threadIdx.x == 0)
            for (int s = 0; s < STAGES - 1; ++s) fetch();
        barrier_wait(full + 8 * reading, read_parity);
        uint32_t a_slab = a_part_at + reading * STAGE_BYTES, b_at = b_part_at + reading * STAGE_BYTES;
        float sum[TM][TN] = {};
        float4 a_part[2][TM];      // four k of each row: these and the next four
        float4 b_part[2][TN / 4];  // a k of the columns: this and the next one
#pragma unroll
        for (int i = 0; i < TM; ++i) a_part[0][i] = read_a(a_slab + row_lane * 16, i);
#pragma unroll
        for (int j = 0; j < TN / 4; ++j) b_part[0][j] = read_b(b_at, 0, j);

        for (int s = 0; s < slabs; ++s) {
#pragma unroll 1
            for (int turn = 0; turn < BK / TURN; ++turn) {
                const bool is_last = turn == BK / TURN - 1;
                const uint32_t releasing = empty + 8 * reading;
                uint32_t a_at = a_slab + ((2 * turn + 1) ^ row_lane) * 16;
                if (turn == 0 && threadIdx.x == 0) fetch();
                __syncwarp();
#pragma unroll
                for (int kk = 0; kk < TURN; ++kk) {
                    const int now = kk / 4, step = kk % 4;
                    if (kk == 4) {
                        if (is_last) {  // the next four k of A are in the next slab
                            if (++reading == STAGES) reading = 0, read_parity ^= 1;
                            if (s + 1 < slabs) barrier_wait(full + 8 * reading, read_parity);
                            a_slab = a_part_at + reading * STAGE_BYTES;
                        }
                        a_at = a_slab + ((2 * turn + 2) % (BK / 4) ^ row_lane) * 16;
                    }
                    if (kk == TURN - 1) {
                        b_at += TURN * BN * 4;
                        if (is_last) {  // and so is the next row of B: nothing more is read from this one
                            __syncwarp();
                            if (lane == 0) barrier_arrive(releasing);
                            b_at = b_part_at + reading * STAGE_BYTES;
                        }
                    }
#pragma unroll
                    for (int j = 0; j < TN / 4; ++j) b_part[(kk + 1) % 2][j] = read_b(b_at, (kk + 1) % TURN, j);
#pragma unroll
                    for (int i = step * TM / 4; i < (step + 1) * TM / 4; ++i) a_part[1 - now][i] = read_a(a_at, i);
                    walk_in_rows<TM, TN>([&](int i, int j) {
                        sum[i][j] += part_of(a_part[now][i], step) * part_of(b_part[kk % 2][j / 4], j % 4);
                    });
                }
            }
        }

        leave_registers(sum, stages);
        const auto four = [&](int i, int x) { return make_float4(sum[i][x], sum[i][x + 1], sum[i][x + 2], sum[i][x + 3]); };
        if (add_up<THREADS>(plan, tile, sum, four)) {
#pragma unroll
            for (int i = 0; i < TM; ++i) {
                const int c_row = row0 + row + i * LANES_M;
#pragma unroll
                for (int x = 0; x < TN; x += 4) {
                    const int c_col = col0 + col + x * LANES_N;
                    if (c_row < m && c_col < n) store_4<true>(c + size_t(c_row) * n + c_col, 4, four(i, x));
                }
            }
        }
        slab += slabs;
        fence_async();  // the copy engine will write where the sums were
        __syncthreads();
    }
#endif
}

// Whether the kernel that runs on the GPU at hand was compiled with the copy engine is known to the device compiler alone.
static __device__ int built_with_tma = TARGET_HAS_TMA;

void launch(const harness::Gemm<float>& g) {
    static const bool has_tma = [] {
        int built;
        CUDA_CHECK(cudaMemcpyFromSymbol(&built, built_with_tma, sizeof built));
        return built == 1;
    }();
    if (!has_tma) harness::fail(harness::UNSUPPORTED, "this rung is written for sm_90 and later");
    if (g.n % 4 || g.k % 4) harness::fail(harness::UNSUPPORTED, "n and k must be multiples of 4, not %d and %d", g.n, g.k);
    static const Sharers sharers(gemm_18_along_k, THREADS, SHARED_BYTES, BM * BN);
    const Plan plan = sharers.plan(g, BM, BN, BK);
    gemm_18_along_k<<<sharers.blocks(plan, g, BM, BN), THREADS, SHARED_BYTES>>>(
        g.m, g.n, g.k, harness::tensor_map(g.a, g.m, g.k, BM, BK, CU_TENSOR_MAP_SWIZZLE_128B),
        harness::tensor_map(g.b, g.k, g.n, BK, BN, CU_TENSOR_MAP_SWIZZLE_NONE), g.c, plan);
}

int main(int argc, char** argv) { return harness::run<harness::Multiplication<float>>(argc, argv, {"18_along_k", launch}); }
