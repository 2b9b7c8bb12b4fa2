// Rung 3: a thread makes four adjacent results.
//
// Change from rung 2: three LDS.128 serve four results, which share most of their neighbours, and one STG.128 stores them.
// Expect: 3 wavefronts of shared loads a result instead of 9, half the additions, a quarter of the stores. What remains of the
// time is the memory's, and the barrier's, before which nothing is stored and after which nothing is loaded.
//
//                          | halo 4 |          tile 1024          | halo 4 |
//      global, LDG.E.128   |  t0    |  t1    |  t2    | ...                |
//      shared, LDS.128     | [left] [middle] [right]                       |     3 for the four results of t0
//      global, STG.E.128            |  t0    |  t1    | ...       |
//
// Any n. Refuses arrays that are not aligned to 16 bytes.
#include "tile.cuh"

template <bool INSIDE>
__device__ void average(const harness::Map<float>& map, size_t first, float4* tile) {
    const int t = threadIdx.x;
    const float4 own = four_elements<INSIDE>(map, first + 4 * t);
    float4 halo;
    if (t < 2) halo = four_elements<INSIDE>(map, first + (t == 0 ? -RADIUS : TILE));
    tile[1 + t] = own;
    if (t < 2) tile[t == 0 ? 0 : 1 + THREADS] = halo;
    __syncthreads();
    store_four<INSIDE>(map, first + 4 * t, four_means(tile[t], tile[t + 1], tile[t + 2]));
}

__global__ void __launch_bounds__(THREADS) tile_03_vector_results(harness::Map<float> map) {
    __shared__ float4 tile[THREADS + 2];
    const size_t first = blockIdx.x * size_t(TILE);
    if (lies_inside(map, first)) average<true>(map, first, tile);
    else average<false>(map, first, tile);
}

bool launch(const harness::Map<float>& map) {
    static_assert(TILE == 4 * THREADS && RADIUS == 4, "a thread stages one float4, and a halo is another");
    if (!harness::is_aligned(map.in, sizeof(float4)) || !harness::is_aligned(map.out, sizeof(float4))) return false;
    tile_03_vector_results<<<harness::blocks_for(map.n, TILE), THREADS>>>(map);
    return true;
}

int main(int argc, char** argv) { return harness::run<Task>(argc, argv, {"03_vector_results", launch}); }
