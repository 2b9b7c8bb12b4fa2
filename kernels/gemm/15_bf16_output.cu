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
#include "slabs.cuh"

constexpr int C_COLUMNS = 64, C_BOX_BYTES = 16 * C_COLUMNS * 2;  // of a warp's box
constexpr int SHARED_BYTES = RING_BYTES + CONSUMERS * 4 * 2 * C_BOX_BYTES + BARRIER_BYTES + 1024;
static_assert(C_COLUMNS * 2 == ROW_BYTES, "a row of a box of C is one 128-byte swizzle row");
static_assert(SHARED_BYTES <= 227 * 1024, "a Hopper block has at most 227 KB of shared memory");

__global__ void __launch_bounds__(THREADS, 1)
gemm_15_bf16_output(int m, int n, int k, const __grid_constant__ CUtensorMap a_map, const __grid_constant__ CUtensorMap b_map,
                    const __grid_constant__ CUtensorMap c_map) {
#if TARGET_HAS_WGMMA
    extern __shared__ uint8_t shared[];
    const uint32_t slabs = (shared_address(shared) + 1023) & ~1023u, cs = slabs + RING_BYTES;
    const Tiles<bf16> tiles{m, n, k};
    Ring<bf16> ring(slabs, cs + CONSUMERS * 4 * 2 * C_BOX_BYTES);
    if (threadIdx.x == 0) {
        ring.init();
        for (const CUtensorMap* map : {&a_map, &b_map, &c_map}) prefetch_map(map);
    }
    cluster_sync();
    if (threadIdx.x < 128) {
        give_registers<40>();
        if (threadIdx.x == 0) {
            tiles.each([&](int tile) {
                const int2 origin = tiles.origin(tile);
                for (int slab = 0; slab < tiles.slabs; ++slab) ring.fetch(a_map, b_map, tiles.rank, origin, slab);
            });
            ring.drain();
        }
    } else {
        take_registers<232>();
        const int consumer = threadIdx.x / 128 - 1, warp = threadIdx.x % 128 / 32, lane = threadIdx.x % 32;
        const uint32_t boxes = cs + (consumer * 4 + warp) * 2 * C_BOX_BYTES;
        tiles.each([&](int tile) {
            float sum[128];
            for (int slab = 0; slab < tiles.slabs; ++slab) {
                ring.multiply(sum, consumer, slab > 0);
                ring.release();
            }
            const int2 origin = tiles.origin(tile);
            const int row0 = origin.x + consumer * 64 + warp * 16, col0 = origin.y;
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
                    store_shared(to + row * ROW_BYTES + piece * 16 + lane % 4 * 4, two);
                }
                fence_async();
                __syncwarp();
                if (lane == 0) {
                    store_box(&c_map, to, col0 + box * C_COLUMNS, row0);
                    store_box_commit();
                }
            }
        });
        if (lane == 0) store_box_wait_read<0>();
    }
#endif
}

void launch(const harness::Gemm<bf16, bf16>& g) {
    if (!target_has_wgmma()) harness::fail(harness::UNSUPPORTED, "this rung is written for sm_90a");
    if (g.n % 8 || g.k % 8) harness::fail(harness::UNSUPPORTED, "n and k must be multiples of 8, not %d and %d", g.n, g.k);
    const int64_t tiles = int64_t(harness::tiles(g.m, CLUSTER * BM)) * harness::tiles(g.n, BN);
    launch_persistent(gemm_15_bf16_output, CLUSTER, THREADS, SHARED_BYTES, tiles, g.m, g.n, g.k,
                      map_of_a(g), map_of_b(g),
                      harness::tensor_map(g.c, g.m, g.n, 16, C_COLUMNS, CU_TENSOR_MAP_SWIZZLE_128B));
}

int main(int argc, char** argv) { return harness::run<harness::Multiplication<bf16, bf16>>(argc, argv, {"15_bf16_output", launch}); }
