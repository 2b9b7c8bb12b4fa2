// Rung 19: smaller tiles, where those of rung 16 are too few for the GPU.
//
// Change from rung 16: at 1024, tiles of 256 x 256 are 16 for 66 clusters. A tile of a cluster may now also be 256 x 128 or 128 x 128:
// each block has two warp groups of 64 x 128, or one. Their products are half as long, so those of the next slab start before
// these are done. C leaves as in rung 15, since such a block has seldom more than one tile.
// Expect: up to twice the speed at 1024, level at 4096, where rung 16's own tiles are taken.
//
//      Large                        Middle                Small
//      +-----256-----+ block 0      +-128-+ block 0       +-128-+ block 0 of the cluster, 64 rows
//      |             | 128          |     | 128           +-----+ block 1, 64 rows
//      +-------------+ block 1      +-----+ block 1
//      |             | 128          |     | 128
//      +-------------+              +-----+
//
// For sm_90a, and rows of multiples of 16 bytes, which TMA asks for; refuses everything else.
#include "harness.cuh"
#include "leaving.cuh"

using Middle = Tile<2, 128, 6>;
using Small = Tile<1, 128, 8>;
template <class T>
constexpr int SHARED_BYTES = T::RING_BYTES + T::CONSUMERS * 4 * 2 * C_BOX_BYTES + T::BARRIER_BYTES + 1024;
static_assert(SHARED_BYTES<Middle> <= 227 * 1024 && SHARED_BYTES<Small> <= 227 * 1024, "a Hopper block has at most 227 KB of shared memory");

__global__ void __launch_bounds__(THREADS, 1)
gemm_19_large_tiles(int m, int n, int k, const __grid_constant__ CUtensorMap a_map, const __grid_constant__ CUtensorMap b_map,
                    const __grid_constant__ CUtensorMap c_map) {
#if TARGET_HAS_WGMMA
    multiply<false>(Tiles<bf16>{m, n, k}, a_map, b_map, c_map);
#endif
}

template <class T>
__global__ void __launch_bounds__(T::THREADS, 1)
gemm_19_small_tiles(int m, int n, int k, const __grid_constant__ CUtensorMap a_map, const __grid_constant__ CUtensorMap b_map,
                    const __grid_constant__ CUtensorMap c_map) {
#if TARGET_HAS_WGMMA
    extern __shared__ uint8_t shared[];
    const uint32_t slabs = (shared_address(shared) + 1023) & ~1023u, cs = slabs + T::RING_BYTES;
    const Tiles<bf16, T> tiles{m, n, k};
    Ring<bf16, T> ring(slabs, cs + T::CONSUMERS * 4 * 2 * C_BOX_BYTES);
    if (threadIdx.x == 0) {
        ring.init();
        for (const CUtensorMap* map : {&a_map, &b_map, &c_map}) prefetch_map(map);
    }
    cluster_sync();
    if (threadIdx.x < 128) {
        if (threadIdx.x == 0) {
            tiles.each([&](int tile) {
                const int2 origin = tiles.origin(tile);
                for (int slab = 0; slab < tiles.slabs; ++slab) ring.fetch(a_map, b_map, tiles.rank, origin, slab);
            });
            ring.drain();
        }
    } else {
        const int consumer = threadIdx.x / 128 - 1, warp = threadIdx.x / 32 - 4;
        const uint32_t boxes = cs + warp * 2 * C_BOX_BYTES;
        tiles.each([&](int tile) {
            float sum[T::BN / 2];
            ring.multiply(sum, consumer, false);
            for (int slab = 1; slab < tiles.slabs; ++slab) ring.multiply_next(sum, consumer);
            ring.release();
            wgmma_settle(sum);
            const int2 origin = tiles.origin(tile);
#pragma unroll
            for (int box = 0; box < T::BN / C_COLUMNS; ++box) {
                __nv_bfloat162 packed[C_COLUMNS / 4];
#pragma unroll
                for (int pair = 0; pair < C_COLUMNS / 4; ++pair) {
                    const int at = box * C_COLUMNS / 2 + pair * 2;
                    packed[pair] = __floats2bfloat162_rn(sum[at], sum[at + 1]);
                }
                send_box(&c_map, boxes + box % 2 * C_BOX_BYTES, packed, origin.x + warp * 16, origin.y + box * C_COLUMNS);
            }
        });
        if (threadIdx.x % 32 == 0) store_box_wait_read<0>();
    }
#endif
}

template <class T>
int64_t cluster_tiles(const harness::Gemm<bf16, bf16>& g) {
    return int64_t(harness::tiles(g.m, CLUSTER * T::BM)) * harness::tiles(g.n, T::BN);
}

template <class T, class Kernel>
void launch_with(const harness::Gemm<bf16, bf16>& g, Kernel kernel, int shared_bytes) {
    launch_persistent(kernel, CLUSTER, T::THREADS, shared_bytes, cluster_tiles<T>(g), g.m, g.n, g.k, map_of_a<T>(g), map_of_b<T>(g),
                      harness::tensor_map(g.c, g.m, g.n, 16, C_COLUMNS, CU_TENSOR_MAP_SWIZZLE_128B));
}

// How long tiles of this shape take: as many in turn as the busiest cluster has, each as long as its products. Those of a smaller tile take
// longer, since fewer share what is fetched: at 4096, 1.2 and 1.6 times as long as those of a large tile.
template <class T>
int64_t cost(const harness::Gemm<bf16, bf16>& g, int tenths) {
    static const int clusters = [] {
        int device, processors;
        CUDA_CHECK(cudaGetDevice(&device));
        CUDA_CHECK(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device));
        return processors / CLUSTER;
    }();
    return (cluster_tiles<T>(g) + clusters - 1) / clusters * T::BM * T::BN * tenths;
}

void launch(const harness::Gemm<bf16, bf16>& g) {
    if (!target_has_wgmma()) harness::fail(harness::UNSUPPORTED, "this rung is written for sm_90a");
    if (g.n % 8 || g.k % 8) harness::fail(harness::UNSUPPORTED, "n and k must be multiples of 8, not %d and %d", g.n, g.k);
    const int64_t large = cost<Large>(g, 10), middle = cost<Middle>(g, 12), small = cost<Small>(g, 16);
    if (large <= middle && large <= small) launch_with<Large>(g, gemm_19_large_tiles, LEAVING_BYTES);
    else if (middle <= small) launch_with<Middle>(g, gemm_19_small_tiles<Middle>, SHARED_BYTES<Middle>);
    else launch_with<Small>(g, gemm_19_small_tiles<Small>, SHARED_BYTES<Small>);
}

int main(int argc, char** argv) { return harness::run<harness::Multiplication<bf16, bf16>>(argc, argv, {"19_small_tiles", launch}); }
