// Rung 1: a tile staged in shared memory one element at a time.
//
// Change from nothing: each element is fetched from global memory once per block, though nine results need it.
// Expect: four loads of 4 bytes are under way per thread before the barrier, then nothing is until it has stored its results.
// Nine shared loads a result keep the LSU pipe busier than the memory, by three wavefronts for each one that it needs.
//
//                          | halo 4 |          tile 1024          | halo 4 |
//      global, LDG.E       |  t0 .. |  t0 t1 t2 ...  t255 | t0 ...         |     each element 4 bytes, by one thread
//      shared              |        [ 9 neighbours ]                       |     9 LDS a result
//      global, STG.E                |  t0 t1 t2 ...  t255 | t0 ... |
//
// Traffic: 1032 / 1024 of the input read, and the output written. Any n, any alignment.
#include "tile.cuh"

template <bool INSIDE>
__device__ void average(const harness::Map<float>& map, size_t first, float* tile) {
    const int t = threadIdx.x;
    float own[TILE / THREADS], halo;
#pragma unroll
    for (int k = 0; k < TILE / THREADS; ++k) own[k] = element<INSIDE>(map, first + k * THREADS + t);
    if (t < 2 * RADIUS) halo = element<INSIDE>(map, first + t + (t < RADIUS ? -RADIUS : TILE - RADIUS));
#pragma unroll
    for (int k = 0; k < TILE / THREADS; ++k) tile[RADIUS + k * THREADS + t] = own[k];
    if (t < 2 * RADIUS) tile[t < RADIUS ? t : TILE + t] = halo;
    __syncthreads();
#pragma unroll
    for (int k = 0; k < TILE / THREADS; ++k)
        store_element<INSIDE>(map, first + k * THREADS + t, mean_of_nine(tile + k * THREADS + t));
}

__global__ void __launch_bounds__(THREADS) tile_01_scalar(harness::Map<float> map) {
    __shared__ float tile[TILE + 2 * RADIUS];
    const size_t first = blockIdx.x * size_t(TILE);
    if (lies_inside(map, first)) average<true>(map, first, tile);
    else average<false>(map, first, tile);
}

bool launch(const harness::Map<float>& map) {
    tile_01_scalar<<<harness::blocks_for(map.n, TILE), THREADS>>>(map);
    return true;
}

int main(int argc, char** argv) { return harness::run<Task>(argc, argv, {"01_scalar", launch}); }
