// Rung 2: the tile is staged four elements at a time.
//
// Change from rung 1: LDG.128 and STS.128 bring the tile in; the results are made and stored as before.
// Expect: a quarter of the instructions that stage, and hardly less time: the nine shared loads of a result were the most of
// the LSU pipe's work, and they stay.
//
//                          | halo 4 |          tile 1024          | halo 4 |
//      global, LDG.E.128   |  t0    |  t1    |  t2    | ...                |     16 bytes by one thread
//      shared              |        [ 9 neighbours ]                       |     9 LDS a result
//      global, STG.E                |  t0 t1 t2 ...  t255 | t0 ... |
//
// Any n. Refuses an input that is not aligned to 16 bytes; the output may start anywhere.
#include "tile.cuh"

template <bool INSIDE>
__device__ void average(const harness::Map<float>& map, size_t first, float* tile) {
    const int t = threadIdx.x;
    const float4 own = four_elements<INSIDE>(map, first + 4 * t);
    float4 halo;
    if (t < 2) halo = four_elements<INSIDE>(map, first + (t == 0 ? -RADIUS : TILE));
    reinterpret_cast<float4*>(tile)[1 + t] = own;
    if (t < 2) reinterpret_cast<float4*>(tile)[t == 0 ? 0 : 1 + THREADS] = halo;
    __syncthreads();
#pragma unroll
    for (int k = 0; k < TILE / THREADS; ++k)
        store_element<INSIDE>(map, first + k * THREADS + t, mean_of_nine(tile + k * THREADS + t));
}

__global__ void __launch_bounds__(THREADS) tile_02_vector_staging(harness::Map<float> map) {
    __shared__ alignas(16) float tile[TILE + 2 * RADIUS];
    const size_t first = blockIdx.x * size_t(TILE);
    if (lies_inside(map, first)) average<true>(map, first, tile);
    else average<false>(map, first, tile);
}

bool launch(const harness::Map<float>& map) {
    static_assert(TILE == 4 * THREADS && RADIUS == 4, "a thread stages one float4, and a halo is another");
    if (!harness::is_aligned(map.in, sizeof(float4))) return false;
    tile_02_vector_staging<<<harness::blocks_for(map.n, TILE), THREADS>>>(map);
    return true;
}

int main(int argc, char** argv) { return harness::run<Task>(argc, argv, {"02_vector_staging", launch}); }
