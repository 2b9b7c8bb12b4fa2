// Rung 16: a tile of C leaves while the next one is multiplied.
//
// Change from rung 15: there, between two tiles, both consumers lay their sums down box by box and wait for the copy engine, and
// nobody multiplies. Here a lane packs its 128 sums into 64 registers, starts the next tile, and lays a box down under each of
// its first four slabs. And the blocks of a cluster no longer meet at the end, with a fence of memory: a block may end as soon as its
// producer has seen that nobody will count down its barriers any more.
// Expect: the tensor pipe busy between tiles too.
//
//       tensor cores   | tile 0 ............ |p| tile 1 ................... |p| tile 2         p: packs
//       copy engine                              C of tile 0: 0, 1, 2, 3       C of tile 1: ...
//
// For sm_90a, and rows of multiples of 16 bytes, which TMA asks for; refuses everything else.
#include "../gemm/harness.cuh"
#include "../gemm/leaving.cuh"

constexpr int SHARED_BYTES = RING_BYTES + CONSUMERS * 4 * 2 * C_BOX_BYTES + BARRIER_BYTES + 1024;
static_assert(SHARED_BYTES <= 227 * 1024, "a Hopper block has at most 227 KB of shared memory");

__global__ void __launch_bounds__(THREADS, 1)
epilogue_02_fused(int m, int n, int k, const __grid_constant__ CUtensorMap a_map, const __grid_constant__ CUtensorMap b_map,
                          const __grid_constant__ CUtensorMap c_map, const bf16* __restrict__ bias) {
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
        const int consumer = threadIdx.x / 128 - 1, warp = threadIdx.x / 32 - 4, lane = threadIdx.x % 32;
        const uint32_t boxes = cs + warp * 2 * C_BOX_BYTES;
        LeavingTile leaving(&c_map);
#if LAG
        if (consumer == 1) asm volatile("bar.sync 1, 256;" ::: "memory");
#endif
        tiles.each([&](int tile) {
            float sum[128];
            for (int slab = 0; slab < tiles.slabs; ++slab) {
                ring.multiply(sum, consumer, slab > 0);
                if (leaving.waits() && slab < C_BOXES) {
#pragma unroll
                    for (int box = 0; box < C_BOXES; ++box)
                        if (slab == box) leaving.send(boxes, box);
                }
                if (slab == C_BOXES) leaving.fetch_bias(bias, tiles.origin(tile).y, n);
                ring.release();
#if LAG
                if (consumer == 0 && tile == tiles.cluster && slab == min(LAG, tiles.slabs) - 1) asm volatile("bar.arrive 1, 256;" ::: "memory");
#endif
            }
#pragma unroll
            for (int box = 0; box < C_BOXES; ++box)  // k was too short for all boxes
                if (leaving.waits() && tiles.slabs <= box) leaving.send(boxes, box);
            if (tiles.slabs <= C_BOXES) leaving.fetch_bias(bias, tiles.origin(tile).y, n);
            const int2 origin = tiles.origin(tile);
            leaving.take_activated(sum, origin.x + warp * 16, origin.y);
        });
#pragma unroll
        for (int box = 0; box < C_BOXES; ++box) leaving.send(boxes, box);
        if (lane == 0) store_box_wait_read<0>();
    }
#endif
}

void launch(const harness::Gemm<bf16, bf16>& g) {
    if (!target_has_wgmma()) harness::fail(harness::UNSUPPORTED, "this rung is written for sm_90a");
    if (g.n % 8 || g.k % 8) harness::fail(harness::UNSUPPORTED, "n and k must be multiples of 8, not %d and %d", g.n, g.k);
    const int64_t tiles = int64_t(harness::tiles(g.m, CLUSTER * BM)) * harness::tiles(g.n, BN);
    launch_persistent(epilogue_02_fused, CLUSTER, THREADS, SHARED_BYTES, tiles, g.m, g.n, g.k, map_of_a(g), map_of_b(g),
                      harness::tensor_map(g.c, g.m, g.n, 16, C_COLUMNS, CU_TENSOR_MAP_SWIZZLE_128B), g.bias);
}

int main(int argc, char** argv) { return harness::run<harness::Multiplication<bf16, bf16>>(argc, argv, {"02_fused", launch, true}); }
