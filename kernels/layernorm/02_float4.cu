// Rung 2: a float4 an access.
//
// Change from rung 1: 128-bit loads and stores; the passes are the same three.
// Expect: a quarter of the loads, issue slots and LSU pipe down accordingly, and four times the bytes under way: a block has
// asked for its whole row before the first of it arrives. The two later passes still wait for the L1.
//
//      block r, 256 threads, float4:   | t0 t1 ... t255 | t0 t1 ... t255 | ...   row r, hidden / 4 vectors, three times
//
// Traffic: as rung 1. Refuses a hidden size that 4 does not divide, and arrays that are not aligned to 16 bytes.
#include "layernorm.cuh"

constexpr int THREADS = 256;

__global__ void __launch_bounds__(THREADS) layernorm_02_float4(Rows rows) {
    __shared__ float of_warps[2][THREADS / 32];
    const uint32_t vectors = rows.hidden / 4;
    const float4* in = reinterpret_cast<const float4*>(rows.in) + blockIdx.x * size_t(vectors);
    const float4* gamma = reinterpret_cast<const float4*>(rows.gamma);
    const float4* beta = reinterpret_cast<const float4*>(rows.beta);
    float4* out = reinterpret_cast<float4*>(rows.out) + blockIdx.x * size_t(vectors);
    float sum = 0, squares = 0;
    for (uint32_t i = threadIdx.x; i < vectors; i += THREADS) sum += sum_of(in[i]);
    const float mean = harness::block_sum<THREADS>(sum, of_warps[0]) / float(rows.hidden);
    for (uint32_t i = threadIdx.x; i < vectors; i += THREADS) squares += squares_of(in[i], mean);
    const float variance = harness::block_sum<THREADS>(squares, of_warps[1]) / float(rows.hidden);
    const float scale = rsqrtf(variance + EPSILON);
    for (uint32_t i = threadIdx.x; i < vectors; i += THREADS) out[i] = normalized(in[i], mean, scale, gamma[i], beta[i]);
}

bool launch(const Rows& rows) {
    if (!suits_float4(rows)) return false;
    layernorm_02_float4<<<unsigned(rows.rows), THREADS>>>(rows);
    return true;
}

int main(int argc, char** argv) { return harness::run<Task>(argc, argv, {"02_float4", launch}); }
