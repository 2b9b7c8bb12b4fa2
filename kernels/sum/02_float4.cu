// Rung 2: a float4 an access.
//
// Change from rung 1: 128-bit loads, a quarter as many, and up to three scalars at either end of the array.
// Expect: four times the bytes under way, 32 KB an SM, just about what the memory needs: most of the way to its limit. Load
// instructions, issue slots and the LSU pipe down to a quarter.
//
//      256 threads a block, as many blocks as are resident (B)
//      block b of B:       | b | ...       | b + B | ...       | b + 2B | ...      pieces of 256 float4
//
// Traffic: 4 bytes an element, read once; B atomic additions. Not deterministic: the blocks come in any order.
// Any n, any alignment: scalars up to the first address that suits a float4.
#include "sum.cuh"

constexpr int THREADS = 256;

__global__ void __launch_bounds__(THREADS) sum_02_float4(Cut cut, float* out) {
    __shared__ float of_warps[THREADS / 32];
    const size_t first = blockIdx.x * size_t(THREADS) + threadIdx.x;
    float sum = cut.edge(first);
    for (size_t i = first; i < cut.vectors; i += size_t(gridDim.x) * THREADS) sum += sum_of(cut.body[i]);
    sum = harness::block_sum<THREADS>(sum, of_warps);
    if (threadIdx.x == 0) atomicAdd(out, sum);
}

bool launch(const Array& array) {
    const Cut cut(array);
    const unsigned resident = harness::resident_blocks(sum_02_float4, THREADS);
    CUDA_CHECK(cudaMemsetAsync(array.out, 0, sizeof(float)));
    sum_02_float4<<<std::min(resident, harness::blocks_for(cut.vectors, THREADS)), THREADS>>>(cut, array.out);
    return true;
}

int main(int argc, char** argv) { return harness::run<Sum>(argc, argv, {"02_float4", launch}); }
