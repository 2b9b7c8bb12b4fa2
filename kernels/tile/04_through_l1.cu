// Rung 4: no tile; the L1 cache has the neighbours.
//
// Change from rung 3: a thread loads left, middle and right from global memory; shared memory and the barrier are gone.
// Expect: the same bytes from memory, since two of three loads hit in L1, whose hit rate rises from 0 to about 60 %. Without a
// barrier a block's loads and stores overlap with everybody's, so it is at least as fast as the staged tile.
//
//      global, LDG.E.128   | [left] [middle] [right] |          t0
//                                  | [left] [middle] [right]    t1: two of the three are t0's
//      global, STG.E.128           |  t0    |  t1    | ...
//
// Any n. Refuses arrays that are not aligned to 16 bytes.
#include "tile.cuh"

template <bool INSIDE>
__device__ void average(const harness::Map<float>& map, size_t i) {
    const float4 left = four_elements<INSIDE>(map, i - 4), own = four_elements<INSIDE>(map, i);
    store_four<INSIDE>(map, i, four_means(left, own, four_elements<INSIDE>(map, i + 4)));
}

__global__ void __launch_bounds__(THREADS) tile_04_through_l1(harness::Map<float> map) {
    const size_t first = blockIdx.x * size_t(TILE);
    if (lies_inside(map, first)) average<true>(map, first + 4 * threadIdx.x);
    else average<false>(map, first + 4 * threadIdx.x);
}

bool launch(const harness::Map<float>& map) {
    static_assert(TILE == 4 * THREADS, "a thread makes four results");
    static_assert(RADIUS == 4, "the neighbours are one float4 on either side");
    if (!harness::is_aligned(map.in, sizeof(float4)) || !harness::is_aligned(map.out, sizeof(float4))) return false;
    tile_04_through_l1<<<harness::blocks_for(map.n, TILE), THREADS>>>(map);
    return true;
}

int main(int argc, char** argv) { return harness::run<Task>(argc, argv, {"04_through_l1", launch}); }
