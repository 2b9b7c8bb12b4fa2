// Rung 2: one thread, four adjacent elements, and a tail.
//
// Change from rung 1: 128 bits an access; the n % 4 elements left over go to the first threads of the grid, one each.
// Expect: a quarter of the loads, stores and addresses, the same arithmetic; 32 KB under way on an SM, and so DRAM as the wall.
//
//      block b, 256 threads        |    t0    |    t1    | ...     a warp's access: 32 x 16 bytes, 16 sectors
//      elements 1024 b .. + 1023   | 16 bytes | 16 bytes |
//
// Any n. Refuses arrays that are not aligned to 16 bytes.
#include "gelu.cuh"

constexpr int THREADS = 256;

__global__ void __launch_bounds__(THREADS) gelu_02_float4(harness::Map<float> map) {
    const size_t i = blockIdx.x * size_t(THREADS) + threadIdx.x;
    const size_t vectors = map.n / 4;
    if (i < vectors) {
        const float4 x = reinterpret_cast<const float4*>(map.in)[i];
        reinterpret_cast<float4*>(map.out)[i] = make_float4(gelu(x.x), gelu(x.y), gelu(x.z), gelu(x.w));
    }
    const size_t rest = vectors * 4 + i;
    if (rest < map.n) map.out[rest] = gelu(map.in[rest]);
}

bool launch(const harness::Map<float>& map) {
    if (!harness::is_aligned(map.in, sizeof(float4)) || !harness::is_aligned(map.out, sizeof(float4))) return false;
    gelu_02_float4<<<harness::blocks_for(map.n / 4, THREADS), THREADS>>>(map);
    return true;
}

int main(int argc, char** argv) { return harness::run<Task>(argc, argv, {"02_float4", launch}); }
