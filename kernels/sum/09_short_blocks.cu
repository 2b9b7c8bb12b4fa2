// Rung 9: blocks that come and go, each with a share of its own.
//
// Change from rung 4: a block of 1024 threads adds 128 KB and ends, and the next block takes its place. A second kernel adds the
// blocks' sums. It is launched while the first one still runs, and waits at its beginning.
// Expect: an SM that is slower than others gets fewer blocks, where rung 4 gives all of them equally much. By how much SMs differ in
// speed depends on the GPU, and so does the gain: 0.5 to 2 %. The launch of the second kernel is hidden, 1 us of 240.
//
//      block b:            | b: 8192 float4, 128 KB | b + 1 | b + 2 | ...
//      within a share:     | t0 t1 ... t1023 | t0 t1 ... | t0 t1 ... | t0 t1 ... |   four loads under way, then four more
//
// Traffic: 4 bytes an element, read once; 8 bytes of partial sums a block, which stay in the L2. Deterministic.
// Any n, any alignment: scalars up to the first address that suits a float4; the last share one float4 at a time.
#include "sum.cuh"

constexpr int THREADS = 1024, IN_FLIGHT = 4, TURNS = 2, SHARE = THREADS * IN_FLIGHT * TURNS;

__device__ float sum_of_share(const float4* share, size_t vectors) {
    float sum = 0;
    if (vectors >= SHARE) {
#pragma unroll 1
        for (int turn = 0; turn < TURNS; ++turn) {
            float4 v[IN_FLIGHT];
#pragma unroll
            for (int k = 0; k < IN_FLIGHT; ++k) v[k] = __ldcs(share + (turn * IN_FLIGHT + k) * THREADS + threadIdx.x);
#pragma unroll
            for (int k = 0; k < IN_FLIGHT; ++k) sum += sum_of(v[k]);
        }
    } else {
        for (size_t i = threadIdx.x; i < vectors; i += THREADS) sum += sum_of(share[i]);
    }
    return sum;
}

// From sm_90 on, the next kernel in the stream may start before this one has ended. Older GPUs launch one after the other.
__device__ void let_next_kernel_start() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    cudaTriggerProgrammaticLaunchCompletion();
#endif
}

__device__ void wait_for_kernel_before() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    cudaGridDependencySynchronize();
#endif
}

bool kernels_may_overlap() {
    int major = 0;
    CUDA_CHECK(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0));
    return major >= 9;
}

__global__ void __launch_bounds__(THREADS) sum_09_short_blocks(Cut cut, float* sums) {
    __shared__ float of_warps[THREADS / 32];
    let_next_kernel_start();
    const size_t at = blockIdx.x * size_t(SHARE);
    float sum = sum_of_share(cut.body + at, cut.vectors - at);
    if (blockIdx.x == 0) sum += cut.edge(threadIdx.x);
    sum = harness::block_sum<THREADS>(sum, of_warps);
    if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

__global__ void __launch_bounds__(THREADS) add_sums_of_blocks(const float* sums, unsigned blocks, float* out) {
    __shared__ float of_warps[THREADS / 32];
    wait_for_kernel_before();
    float sum = 0;
    for (unsigned block = threadIdx.x; block < blocks; block += THREADS) sum += __ldcg(&sums[block]);
    sum = harness::block_sum<THREADS>(sum, of_warps);
    if (threadIdx.x == 0) *out = sum;
}

bool launch(const Array& array) {
    const Cut cut(array);
    const unsigned blocks = harness::blocks_for(cut.vectors, SHARE);
    if (blocks * sizeof(float) > SCRATCH_BYTES) return false;
    float* sums = static_cast<float*>(array.scratch);
    sum_09_short_blocks<<<blocks, THREADS>>>(cut, sums);
    cudaLaunchAttribute early{};
    early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    early.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config{};
    config.gridDim = 1;
    config.blockDim = THREADS;
    config.attrs = &early;
    config.numAttrs = kernels_may_overlap();
    CUDA_CHECK(cudaLaunchKernelEx(&config, add_sums_of_blocks, static_cast<const float*>(sums), blocks, array.out));
    return true;
}

int main(int argc, char** argv) { return harness::run<Sum>(argc, argv, {"09_short_blocks", launch}); }
