// One thread copies one vector; the elements behind the last whole one are copied by the first threads of the grid. Rungs 2 and 3
// and some of ../copy-variants call it from a kernel of their own name; rung 9 has the launch alone from here.
// Any n. Refuses arrays that are not aligned to the vector.
#pragma once

#include "../harness/policy.cuh"
#include "copy.cuh"

constexpr int THREADS = 256;

template <class Vector>
__device__ __forceinline__ void copy_by(const harness::Map<float>& map) {
    constexpr size_t WIDTH = sizeof(Vector) / sizeof(float);
    const size_t i = blockIdx.x * size_t(THREADS) + threadIdx.x;
    const size_t vectors = map.n / WIDTH;
    if (i < vectors) reinterpret_cast<Vector*>(map.out)[i] = reinterpret_cast<const Vector*>(map.in)[i];
    const size_t rest = vectors * WIDTH + i;
    if (rest < map.n) map.out[rest] = map.in[rest];
}

// `shared_bytes` that no thread uses keep other blocks out of the SM.
template <class Vector>
bool launch_by(void (*kernel)(harness::Map<float>), const harness::Map<float>& map, int shared_bytes = 0) {
    if (!harness::is_aligned(map.in, sizeof(Vector)) || !harness::is_aligned(map.out, sizeof(Vector))) return false;
    if (shared_bytes) CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes));
    kernel<<<harness::blocks_for(map.n * sizeof(float) / sizeof(Vector), THREADS), THREADS, shared_bytes>>>(map);
    return true;
}
