// Rung 4: a grid that just fills the device, whose threads walk the array.
//
// Change from rung 3: as many blocks as are resident at once, and a loop; nothing else moves.
// Expect: no blocks to start and end, but each thread waits for its float4 before it asks for the next (the compiler may not
// move a load above a store that might alias it), so the same bytes are under way and the time hardly changes.
//
//      block b of B, 256 threads       | b | ...       | b + B | ...       | b + 2B | ...
//      float4 256 b .. + 255, then B blocks further, and so on: the whole device reads one window at a time
//
// Any n. Refuses arrays that are not aligned to 16 bytes.
#include "copy.cuh"

constexpr int THREADS = 256;

__global__ void __launch_bounds__(THREADS) copy_04_grid_stride(harness::Map<float> map) {
    const size_t first = blockIdx.x * size_t(THREADS) + threadIdx.x;
    const size_t vectors = map.n / 4;
    for (size_t i = first; i < vectors; i += size_t(gridDim.x) * THREADS)
        reinterpret_cast<float4*>(map.out)[i] = reinterpret_cast<const float4*>(map.in)[i];
    const size_t rest = vectors * 4 + first;  // the tail, by the first threads of the grid
    if (rest < map.n) map.out[rest] = map.in[rest];
}

bool launch(const harness::Map<float>& map) {
    if (!harness::is_aligned(map.in, sizeof(float4)) || !harness::is_aligned(map.out, sizeof(float4))) return false;
    const unsigned resident = harness::resident_blocks(copy_04_grid_stride, THREADS);
    copy_04_grid_stride<<<std::min(resident, harness::blocks_for(map.n / 4, THREADS)), THREADS>>>(map);
    return true;
}

int main(int argc, char** argv) { return harness::run<Task>(argc, argv, {"04_grid_stride", launch}); }
