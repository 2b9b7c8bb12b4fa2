// One thread copies four neighbouring floats, one by one: does the compiler make one access of 128 bits of them? A variant's
// file names its KERNEL, and defines TO and FROM, the types of its pointers, and KNOWN, which may state how they are aligned.
// Any n. Refuses arrays that are not aligned to 16 bytes, which one variant promises to the compiler.
#pragma once

#include "../copy/copy.cuh"

constexpr int THREADS = 256;

__global__ void __launch_bounds__(THREADS) KERNEL(size_t n, FROM in, TO out) {
    const size_t first = (blockIdx.x * size_t(THREADS) + threadIdx.x) * 4;
    if (first + 4 <= n) {
        const float* from = KNOWN(in + first);
        float* to = KNOWN(out + first);
#pragma unroll
        for (int k = 0; k < 4; ++k) to[k] = from[k];
    } else {
        for (size_t i = first; i < n; ++i) out[i] = in[i];
    }
}

bool launch(const harness::Map<float>& map) {
    if (!harness::is_aligned(map.in, sizeof(float4)) || !harness::is_aligned(map.out, sizeof(float4))) return false;
    KERNEL<<<harness::blocks_for((map.n + 3) / 4, THREADS), THREADS>>>(map.n, map.in, map.out);
    return true;
}

int main(int argc, char** argv) { return harness::run<Task>(argc, argv, {NAME, launch}); }
