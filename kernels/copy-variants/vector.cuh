// Variant 2 by another vector type of 128 bits. A variant's file names its VECTOR and its KERNEL.
// Any n. Refuses arrays that are not aligned to 16 bytes.
#pragma once

#include "../copy/copy.cuh"

constexpr int THREADS = 256;
static_assert(sizeof(VECTOR) == 16, "128 bits");

__global__ void __launch_bounds__(THREADS) KERNEL(harness::Map<float> map) {
    const size_t i = blockIdx.x * size_t(THREADS) + threadIdx.x;
    const size_t vectors = map.n / 4;
    if (i < vectors) reinterpret_cast<VECTOR*>(map.out)[i] = reinterpret_cast<const VECTOR*>(map.in)[i];
    const size_t rest = vectors * 4 + i;  // the tail, by the first threads of the grid
    if (rest < map.n) map.out[rest] = map.in[rest];
}

bool launch(const harness::Map<float>& map) {
    if (!harness::is_aligned(map.in, sizeof(VECTOR)) || !harness::is_aligned(map.out, sizeof(VECTOR))) return false;
    KERNEL<<<harness::blocks_for(map.n / 4, THREADS), THREADS>>>(map);
    return true;
}

int main(int argc, char** argv) { return harness::run<Task>(argc, argv, {NAME, launch}); }
