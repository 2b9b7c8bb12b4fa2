// Rung 18: A is read along k, and slabs come by the copy engine.
//
// Change from rung 14: there A is transposed on its way into shared memory, number by number, and every k-step reads 4 LDS.128 for 64
// FMAs. Here the copy engine lays slabs down as they are, and one LDS.128 of A brings four k of a row. A thread computes 8 x 16
// elements, so four k take 24 LDS.128 for 512 FMAs, and none of its instructions copies anything. The back end of the compiler is told to
// keep the order of the FMAs (-Xptxas=-O1), in which neighbours share operands and seldom meet in a bank of registers.
// Expect: fewer instructions that are not FMAs, fewer dispatch stalls, and that much faster; slower where tiles are few.
//
//                     +---------128 columns--------+      warp: 32 rows x 128 columns; a thread has rows y, y + 4, ... y + 28
//                  8  |            Bs              |            and columns 4 x + 0..3 of each 32
//          8 k        +----------------------------+      turn of the loop: 8 k, as 4 + 4; while four k are multiplied
//       +-------+     | warp 0                     |            - the next four of A move from shared memory to registers,
//   128 |  As   |     | warp 1                     |            - and each k-step the next row of B
//       | rows  |     | warp 2                     |      slabs: 8 k each, STAGES - 1 of them under way
//       +-------+     +----------------------------+
//
// For sm_90 and rows of multiples of 16 bytes, which the copy engine asks for; refuses everything else.
#include "harness.cuh"
#include "hopper.cuh"
#include "stream_k.cuh"

#ifndef SLAB_K
#define SLAB_K 32
#endif
constexpr int TM = 8, TN = 16;           // a thread's elements
constexpr int LANES_M = 4, LANES_N = 8;  // of a warp
constexpr int WM = LANES_M * TM, WN = LANES_N * TN;
constexpr int BK = SLAB_K, STAGES = 96 / BK, TURNS = BK / 8;
constexpr auto A_SWIZZLE = BK == 32 ? CU_TENSOR_MAP_SWIZZLE_128B : CU_TENSOR_MAP_SWIZZLE_64B;

// A block's tile of C, one warp below the other.
template <int BM_, int BLOCKS_>
struct Tile {
    static constexpr int BM = BM_, BN = WN, BLOCKS = BLOCKS_, WARPS = BM / WM, THREADS = 32 * WARPS;
    static constexpr int A_BYTES = BM * BK * 4, B_BYTES = BK * BN * 4, STAGE_BYTES = A_BYTES + B_BYTES;
    static constexpr int BARRIERS_AT = STAGES * STAGE_BYTES, SHARED_BYTES = BARRIERS_AT + 2 * STAGES * 8;
};

__device__ __forceinline__ float4 read_shared(uint32_t from) {
    float4 four;
    asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];" : "=f"(four.x), "=f"(four.y), "=f"(four.z), "=f"(four.w) : "r"(from));
    return four;
}
__device__ __forceinline__ float at(const float4& four, int i) { return i == 0 ? four.x : i == 1 ? four.y : i == 2 ? four.z : four.w; }

template <class T>
__global__ void __launch_bounds__(T::THREADS, T::BLOCKS)
gemm_18_along_k(int m, int n, int k, const __grid_constant__ CUtensorMap a_map, const __grid_constant__ CUtensorMap b_map, float* __restrict__ c,
                Plan plan) {
#if TARGET_HAS_TMA
    extern __shared__ __align__(1024) uint8_t shared[];
    const uint32_t stages = shared_address(shared), full = stages + T::BARRIERS_AT, empty = full + 8 * STAGES;
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int row_lane = lane % 2 + lane / 16 * 2, row = warp * WM + row_lane, col = lane / 2 % 8 * 4;
    if (threadIdx.x == 0) {
        for (int s = 0; s < STAGES; ++s) {
            barrier_init(full + 8 * s, 1);
            barrier_init(empty + 8 * s, T::WARPS);
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();

    const uint32_t a_part_at = stages + row * BK * 4, a_key = BK == 32 ? row_lane : row_lane / 2, b_part_at = stages + T::A_BYTES + col * 4;
    int reading = 0, parity = 0, writing = 0, written = 1;  // stages, and the parity of the phase in which each was released

    int slab = plan.begin();
    const int end = plan.end();
    while (slab < end) {  // a tile, or this block's part of one
        const int tile = slab / plan.slabs_of_tile, tile_begin = tile * plan.slabs_of_tile;
        const int row0 = tile / plan.tiles_across * T::BM, col0 = tile % plan.tiles_across * T::BN;
        const int slabs = min(end, tile_begin + plan.slabs_of_tile) - slab;
        int fetched_k = (slab - tile_begin) * BK, to_fetch = slabs;

        const auto fetch = [&] {  // one thread: the next slab, if there is one
            if (to_fetch == 0) return;
            --to_fetch;
            const uint32_t to = stages + writing * T::STAGE_BYTES, barrier = full + 8 * writing;
            barrier_wait(empty + 8 * writing, written);
            barrier_expect(barrier, T::STAGE_BYTES);
            copy_box(to, &a_map, barrier, fetched_k, row0);
            copy_box(to + T::A_BYTES, &b_map, barrier, col0, fetched_k);
            fetched_k += BK;
            if (++writing == STAGES) writing = 0, written ^= 1;
        };

        float sum[TM][TN] = {};
        float4 a_part[2][TM];      // four k of each row: these and the next four
        float4 b_part[2][TN / 4];  // a k of the columns: this and the next one
        if (threadIdx.x == 0)
            for (int s = 0; s < STAGES - 1; ++s) fetch();
        // Four k of row i: pieces of 16 bytes are exchanged within a row, every other of this thread's rows by one bit more.
        const auto read_a = [&](uint32_t at, int i) { return read_shared((i % 2 ? at ^ (BK * 2) : at) + i * LANES_M * BK * 4); };
        const auto read_b = [&](uint32_t at, int kk, int j) { return read_shared(at + kk * T::BN * 4 + j * 4 * LANES_N * 4); };
        barrier_wait(full + 8 * reading, parity);
        uint32_t a_slab = a_part_at + reading * T::STAGE_BYTES, b_at = b_part_at + reading * T::STAGE_BYTES;
#pragma unroll
        for (int i = 0; i < TM; ++i) a_part[0][i] = read_a(a_slab + a_key * 16, i);
#pragma unroll
        for (int j = 0; j < TN / 4; ++j) b_part[0][j] = read_b(b_at, 0, j);

        for (int s = 0; s < slabs; ++s) {
#pragma unroll 1
            for (int turn = 0; turn < TURNS; ++turn) {
                const uint32_t releasing = empty + 8 * reading;
                uint32_t a_at = a_slab + ((2 * turn + 1) ^ a_key) * 16;
                if (turn == 0) {
                    if (threadIdx.x == 0) fetch();
                    __syncwarp();
                }
#pragma unroll
                for (int kk = 0; kk < 8; ++kk) {
                    const int now = kk / 4, step = kk % 4;
                    if (kk == 4) {  // what follows reads A of the next slab, if this is its last turn
                        if (turn == TURNS - 1) {
                            if (++reading == STAGES) reading = 0, parity ^= 1;
                            if (s + 1 < slabs) barrier_wait(full + 8 * reading, parity);
                            a_slab = a_part_at + reading * T::STAGE_BYTES;
                        }
                        a_at = a_slab + ((2 * turn + 2) % (2 * TURNS) ^ a_key) * 16;
                    }
                    if (kk == 7) {
                        b_at += 8 * T::BN * 4;
                        if (turn == TURNS - 1) {
                            __syncwarp();
                            if (lane == 0) barrier_arrive(releasing);
                            b_at = b_part_at + reading * T::STAGE_BYTES;
                        }
                    }
#pragma unroll
                    for (int i = 0; i < TM; ++i) {
                        if (i % 2 == 0) b_part[(kk + 1) % 2][i / 2] = read_b(b_at, (kk + 1) % 8, i / 2);
                        if (i % 4 == 1) a_part[1 - now][step * 2 + i / 4] = read_a(a_at, step * 2 + i / 4);
#pragma unroll
                        for (int x = 0; x < TN; ++x) {
                            const int j = (i % 2 ? TN - 1 - x : x) ^ 1;
                            sum[i][j] += at(a_part[now][i], step) * at(b_part[kk % 2][j / 4], j % 4);
                        }
                    }
                }
            }
        }

        const auto four = [&](int i, int x) { return make_float4(sum[i][x], sum[i][x + 1], sum[i][x + 2], sum[i][x + 3]); };
        if (add_up<T::THREADS>(plan, tile, sum, four)) {
#pragma unroll
            for (int i = 0; i < TM; ++i) {
                const int c_row = row0 + row + i * LANES_M;
#pragma unroll
                for (int x = 0; x < TN; x += 4) {
                    const int c_col = col0 + col + x / 4 * 4 * LANES_N;
                    if (c_row < m && c_col < n) store_4<true>(c + size_t(c_row) * n + c_col, 4, four(i, x));
                }
            }
        }
        slab += slabs;
    }
#endif
}

// The copy engine is there or not, as the device compiler knows alone.
static __device__ int built_with_tma = TARGET_HAS_TMA;

bool target_has_tma() {
    int built;
    CUDA_CHECK(cudaMemcpyFromSymbol(&built, built_with_tma, sizeof built));
    return built == 1;
}

template <class T>
void launch_with(const harness::Gemm<float>& g) {
    const auto kernel = gemm_18_along_k<T>;
    static const Sharers sharers(kernel, T::THREADS, T::SHARED_BYTES, T::BM * T::BN);
    const Plan plan = sharers.plan(g, T::BM, T::BN, BK);
    kernel<<<sharers.blocks(plan, g, T::BM, T::BN), T::THREADS, T::SHARED_BYTES>>>(
        g.m, g.n, g.k, harness::tensor_map(g.a, g.m, g.k, T::BM, BK, A_SWIZZLE),
        harness::tensor_map(g.b, g.k, g.n, BK, T::BN, CU_TENSOR_MAP_SWIZZLE_NONE), g.c, plan);
}

void launch(const harness::Gemm<float>& g) {
    static const bool has_tma = target_has_tma();
    if (!has_tma) harness::fail(harness::UNSUPPORTED, "this rung is written for sm_90");
    if (g.n % 4 || g.k % 4) harness::fail(harness::UNSUPPORTED, "n and k must be multiples of 4, not %d and %d", g.n, g.k);
#ifdef FORCE
    if (FORCE) launch_with<Tile<64, 4>>(g); else launch_with<Tile<128, 2>>(g);
#else
    const bool halves_fit_better = harness::tiles(g.m, 64) % 2;
    if (halves_fit_better) launch_with<Tile<64, 4>>(g);
    else launch_with<Tile<128, 2>>(g);
#endif
}

int main(int argc, char** argv) { return harness::run<harness::Multiplication<float>>(argc, argv, {"18_along_k", launch}); }
