// Rung 11: a tile of C leaves through shared memory, by the tensor copy engine.
//
// Change from rung 10: there, each warp stored 8 rows of 32 bytes at a time, 4096 passes through the L1 for a tile, and the tensor
// cores waited. Here a warp lays 16 x 32 elements down in shared memory and one lane hands them to the copy engine
// as one box, while the warp fills the other of its two boxes. And the blocks of a cluster no longer meet at the end, with a fence of
// memory: a block may end as soon as its producer has seen that nobody will count down its barriers any more.
// Expect: fewer LSU instructions and L1 wavefronts for the same bytes; the tensor pipe busier, most where tiles are few per SM.
//
//       warp: 16 x 256 of C in registers                 shared memory            C
//       +----+----+----+----+----+----+----+----+        +----+ +----+
//       | 0  | 1  | 2  | 3  | 4  | 5  | 6  | 7  |  --->  | 2  | | 3  |  --TMA-->  boxes of 16 rows x 32 columns
//       +----+----+----+----+----+----+----+----+        +----+ +----+
//
// A row of a box is 128 bytes; its eight 16-byte pieces are swizzled by the row, so that the 8 rows that a warp writes
// at once meet every bank twice for 256 bytes, which is the least. Traffic per element: as in rung 10.
// For sm_90a, and rows of multiples of 16 bytes, which TMA asks for; refuses everything else (rung 10 runs it).
#include "harness.cuh"
#include "slabs.cuh"

constexpr int C_COLUMNS = 32, C_BOX_BYTES = 16 * C_COLUMNS * 4;  // of a warp's box
constexpr int SHARED_BYTES = RING_BYTES + CONSUMERS * 4 * 2 * C_BOX_BYTES + BARRIER_BYTES + 1024;
static_assert(C_COLUMNS * 4 == ROW_BYTES, "a row of a box of C is one 128-byte swizzle row");
static_assert(SHARED_BYTES <= 227 * 1024, "a Hopper block has at most 227 KB of shared memory");

__global__ void __launch_bounds__(THREADS, 1)
gemm_11_bulk_stores(int m, int n, int k, const __grid_constant__ CUtensorMap a_map, const __grid_constant__ CUtensorMap b_map,
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
                    const int row = pair % 2 * 8 + lane / 4, piece = (pair / 2 * 2 + lane % 4 / 2) ^ (row % 8);
                    const int at = box * C_COLUMNS / 2 + pair * 2;
                    store_shared(to + row * ROW_BYTES + piece * 16 + lane % 2 * 8, make_float2(sum[at], sum[at + 1]));
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

void launch(const harness::Gemm<bf16>& g) {
    if (!target_has_wgmma()) harness::fail(harness::UNSUPPORTED, "this rung is written for sm_90a");
    if (g.n % 8 || g.k % 8) harness::fail(harness::UNSUPPORTED, "n and k must be multiples of 8, not %d and %d", g.n, g.k);
    const int64_t tiles = int64_t(harness::tiles(g.m, CLUSTER * BM)) * harness::tiles(g.n, BN);
    launch_persistent(gemm_11_bulk_stores, CLUSTER, THREADS, SHARED_BYTES, tiles, g.m, g.n, g.k,
                      map_of_a(g), map_of_b(g),
                      harness::tensor_map(g.c, g.m, g.n, 16, C_COLUMNS, CU_TENSOR_MAP_SWIZZLE_128B));
}

int main(int argc, char** argv) { return harness::run<harness::Multiplication<bf16>>(argc, argv, {"11_bulk_stores", launch}); }
