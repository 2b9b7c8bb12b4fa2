// Rung 5: a thread asks for one vector at a time, and the row is kept in shared memory.
//
// Change from rung 4: all four blocks of an SM are back, but each has half a row under way at a time: the loop that reads is
// not unrolled, and what has arrived waits in shared memory, where each thread reads back what it wrote itself.
// Expect: 8 KB under way a block, 32 KB an SM, as in the best copy; instructions up by the shared stores and loads, which
// have issue slots to spare; DRAM throughput as in rung 4 or a little above.
//
//      block r, 512 threads, float4:   | t0 t1 ... t511 |  then  | t0 t1 ... t511 |    row r of 4096 floats
//      shared memory:                  | row r: 16 KB, written once, read twice   |
//
// Traffic: 4 bytes read and 4 written an element, once; gamma and beta come from the caches.
// Any alignment: elements instead of vectors where those do not suit. Refuses rows that do not fit into shared memory: about
// 58,000 floats on Hopper.
#include "layernorm.cuh"

constexpr int THREADS = 512, BLOCKS_AN_SM = 4;
constexpr size_t BLOCK_BYTES = 1024 + 2 * THREADS / 32 * sizeof(float);  // of shared memory, besides the row

template <class Vector>
__global__ void __launch_bounds__(THREADS, BLOCKS_AN_SM) layernorm_05_in_turns(Rows rows) {
    constexpr int WIDTH = sizeof(Vector) / sizeof(float);
    extern __shared__ __align__(16) unsigned char shared[];
    __shared__ float of_warps[2][THREADS / 32];
    const uint32_t vectors = rows.hidden / WIDTH;
    const Vector* in = reinterpret_cast<const Vector*>(rows.in) + blockIdx.x * size_t(vectors);
    const Vector* gamma = reinterpret_cast<const Vector*>(rows.gamma);
    const Vector* beta = reinterpret_cast<const Vector*>(rows.beta);
    Vector* out = reinterpret_cast<Vector*>(rows.out) + blockIdx.x * size_t(vectors);
    Vector* row = reinterpret_cast<Vector*>(shared);
    float sum = 0, squares = 0;
#pragma unroll 1
    for (uint32_t i = threadIdx.x; i < vectors; i += THREADS) {
        const Vector v = in[i];
        row[i] = v;
        sum += sum_of(v);
    }
    const float mean = harness::block_sum<THREADS>(sum, of_warps[0]) / float(rows.hidden);
#pragma unroll 2
    for (uint32_t i = threadIdx.x; i < vectors; i += THREADS) squares += squares_of(row[i], mean);
    const float variance = harness::block_sum<THREADS>(squares, of_warps[1]) / float(rows.hidden);
    const float scale = rsqrtf(variance + EPSILON);
#pragma unroll 2
    for (uint32_t i = threadIdx.x; i < vectors; i += THREADS)
        out[i] = normalized(row[i], mean, scale, __ldg(gamma + i), __ldg(beta + i));
}

template <class Vector>
bool launch_by(const Rows& rows) {
    int device = 0, most_bytes = 0, sm_bytes = 0;
    CUDA_CHECK(cudaGetDevice(&device));
    CUDA_CHECK(cudaDeviceGetAttribute(&most_bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
    CUDA_CHECK(cudaDeviceGetAttribute(&sm_bytes, cudaDevAttrMaxSharedMemoryPerMultiprocessor, device));
    const size_t row_bytes = rows.hidden * sizeof(float);
    if (row_bytes + BLOCK_BYTES > size_t(most_bytes)) return false;
    // As much of the L1 as those blocks need becomes shared memory; the rest is for gamma and beta.
    const size_t set_aside_pct = std::min<size_t>(100, 1 + 100 * BLOCKS_AN_SM * (row_bytes + BLOCK_BYTES) / size_t(sm_bytes));
    const auto kernel = layernorm_05_in_turns<Vector>;
    CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout, int(set_aside_pct)));
    CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, int(row_bytes)));
    kernel<<<unsigned(rows.rows), THREADS, row_bytes>>>(rows);
    return true;
}

bool launch(const Rows& rows) { return suits_float4(rows) ? launch_by<float4>(rows) : launch_by<float>(rows); }

int main(int argc, char** argv) { return harness::run<Task>(argc, argv, {"05_in_turns", launch}); }
