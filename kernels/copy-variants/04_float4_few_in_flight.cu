// Variant 4: float4 with as few bytes under way as one float a thread has.
//
// Change from variant 2: each block asks for so much shared memory that two fit an SM, 512 threads instead of 2048.
// Expect: a quarter of the bytes under way, 8 KB an SM as in variant 1, and about its speed, with a quarter of its instructions.
//
// Any n. Refuses arrays that are not aligned to 16 bytes.
#include "../copy/copy.cuh"

constexpr int THREADS = 256, SHARED_BYTES = 100 * 1024;  // of an SM's 227 KB

__global__ void __launch_bounds__(THREADS) copy_variants_04_float4_few_in_flight(harness::Map<float> map) {
    const size_t i = blockIdx.x * size_t(THREADS) + threadIdx.x;
    const size_t vectors = map.n / 4;
    if (i < vectors) reinterpret_cast<float4*>(map.out)[i] = reinterpret_cast<const float4*>(map.in)[i];
    const size_t rest = vectors * 4 + i;  // the tail, by the first threads of the grid
    if (rest < map.n) map.out[rest] = map.in[rest];
}

bool launch(const harness::Map<float>& map) {
    if (!harness::is_aligned(map.in, sizeof(float4)) || !harness::is_aligned(map.out, sizeof(float4))) return false;
    CUDA_CHECK(cudaFuncSetAttribute(copy_variants_04_float4_few_in_flight, cudaFuncAttributeMaxDynamicSharedMemorySize, SHARED_BYTES));
    copy_variants_04_float4_few_in_flight<<<harness::blocks_for(map.n / 4, THREADS), THREADS, SHARED_BYTES>>>(map);
    return true;
}

int main(int argc, char** argv) { return harness::run<Task>(argc, argv, {"04_float4_few_in_flight", launch}); }
