// Rung 4: rows arrive in shared memory by bulk copies, several ahead of the one that is normalised.
//
// Change from rung 3: a grid that just fills the device walks the rows; one thread asks the copy engine for whole rows, so
// that what is under way no longer depends on what the threads are doing; gamma and beta stay in registers from row to row.
// Expect: no load instructions for x, no L1 traffic for gamma and beta, 12 rows of 16 KB under way on each SM while others are
// reduced and written: DRAM busy without a gap, long scoreboard gone, barrier stalls in its place.
//
//      shared memory of a block:   | row r | row r + B | row r + 2B | ... |    STAGES rows, B blocks
//                                    ^ waits for its delivery, takes its vectors to registers, meets at the barrier of the
//                                      mean's sum; from then on the place is free, and row r + STAGES B is asked for
//
// Traffic: 4 bytes read and 4 written an element, once; gamma and beta once a block.
// Refuses a hidden size that 4 does not divide or above 16384, arrays not aligned to 16 bytes, and GPUs before Hopper.
#include "../harness/bulk.cuh"
#include "layernorm.cuh"

constexpr int THREADS = 512, STAGES = 6;

template <int COUNT>
__global__ void __launch_bounds__(THREADS) layernorm_04_bulk(Rows rows, int stages) {
#ifdef HARNESS_BULK_COPIES
    extern __shared__ __align__(16) float4 stage[];
    __shared__ harness::Delivery delivery[STAGES];
    __shared__ float of_warps[2][THREADS / 32];
    const uint32_t vectors = rows.hidden / 4;
    const float4* in = reinterpret_cast<const float4*>(rows.in);
    float4 v[COUNT], gamma[COUNT], beta[COUNT];
#pragma unroll
    for (int k = 0; k < COUNT; ++k) {
        const uint32_t i = threadIdx.x + k * THREADS;
        if (i >= vectors) continue;
        gamma[k] = reinterpret_cast<const float4*>(rows.gamma)[i];
        beta[k] = reinterpret_cast<const float4*>(rows.beta)[i];
    }
    const auto fetch = [&](size_t row, int s) {
        if (row < rows.rows) delivery[s].fetch(stage + s * vectors, in + row * vectors, vectors * sizeof(float4));
    };
    if (threadIdx.x == 0)
        for (int s = 0; s < stages; ++s) delivery[s].set_up();
    harness::Delivery::announce();
    if (threadIdx.x == 0)
        for (int s = 0; s < stages; ++s) fetch(blockIdx.x + size_t(s) * gridDim.x, s);

    int s = 0;
    uint32_t parity = 0;
    for (size_t row = blockIdx.x; row < rows.rows; row += gridDim.x) {
        float sum = 0, squares = 0;
        delivery[s].wait(parity);
#pragma unroll
        for (int k = 0; k < COUNT; ++k)
            if (threadIdx.x + k * THREADS < vectors) sum += sum_of(v[k] = stage[s * vectors + threadIdx.x + k * THREADS]);
        const float mean = harness::block_sum<THREADS>(sum, of_warps[0]) / float(rows.hidden);
        // Behind the barrier in that sum every thread has its vectors: the place is free.
        if (threadIdx.x == 0) fetch(row + size_t(stages) * gridDim.x, s);
#pragma unroll
        for (int k = 0; k < COUNT; ++k)
            if (threadIdx.x + k * THREADS < vectors) squares += squares_of(v[k], mean);
        const float variance = harness::block_sum<THREADS>(squares, of_warps[1]) / float(rows.hidden);
        const float scale = rsqrtf(variance + EPSILON);
        float4* out = reinterpret_cast<float4*>(rows.out) + row * vectors;
#pragma unroll
        for (int k = 0; k < COUNT; ++k) {
            const uint32_t i = threadIdx.x + k * THREADS;
            if (i < vectors) __stcs(out + i, normalized(v[k], mean, scale, gamma[k], beta[k]));
        }
        if (++s == stages) {
            s = 0;
            parity ^= 1;
        }
    }
#endif
}

// Two blocks an SM where two rows for each fit into its shared memory, else one.
template <int COUNT>
bool launch_at_most(const Rows& rows) {
    const size_t row_bytes = rows.hidden * sizeof(float);
    if (row_bytes > THREADS * COUNT * sizeof(float4)) return false;
    int device = 0, most = 0;
    CUDA_CHECK(cudaGetDevice(&device));
    CUDA_CHECK(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
    const size_t for_rows = size_t(most) / (COUNT > 4 ? 1 : 2) - 2048;
    const int stages = int(std::min<size_t>(STAGES, for_rows / row_bytes));
    const size_t shared = stages * row_bytes;
    CUDA_CHECK(cudaFuncSetAttribute(layernorm_04_bulk<COUNT>, cudaFuncAttributeMaxDynamicSharedMemorySize, int(shared)));
    const unsigned resident = harness::resident_blocks(layernorm_04_bulk<COUNT>, THREADS, shared);
    layernorm_04_bulk<COUNT><<<unsigned(std::min<size_t>(resident, rows.rows)), THREADS, shared>>>(rows, stages);
    return true;
}

bool launch(const Rows& rows) {
    if (!suits_float4(rows) || !harness::device_has_bulk_copies()) return false;
    return launch_at_most<1>(rows) || launch_at_most<2>(rows) || launch_at_most<4>(rows) || launch_at_most<8>(rows);
}

int main(int argc, char** argv) { return harness::run<Task>(argc, argv, {"04_bulk", launch}); }
