// Rung 4: a float4 an access.
//
// Change from rung 3: 128-bit loads and stores.
// Expect: a quarter of the memory instructions; as the row's bytes were under way at once before, little more speed.
//
//      block r, 512 threads, float4:   | t0 t1 ... t511 | t0 t1 ... t511 |    row r of 4096 floats
//      a thread's registers:             v[0]             v[1]
//
// Refuses a hidden size that 4 does not divide, arrays that are not aligned to 16 bytes, and rows of more than 16384.
#include "softmax.cuh"

constexpr int THREADS = 512;

template <int COUNT>
__global__ void __launch_bounds__(THREADS) softmax_04_float4(Rows rows) {
    __shared__ Part of_warps[THREADS / 32];
    const uint32_t vectors = rows.hidden / 4;
    const float4* in = reinterpret_cast<const float4*>(rows.in) + blockIdx.x * size_t(vectors);
    float4* out = reinterpret_cast<float4*>(rows.out) + blockIdx.x * size_t(vectors);
    const int count = int((vectors + THREADS - 1 - threadIdx.x) / THREADS);
    float4 v[COUNT];
#pragma unroll
    for (int k = 0; k < COUNT; ++k) v[k] = k < count ? in[threadIdx.x + k * THREADS] : make_float4(LOWEST, LOWEST, LOWEST, LOWEST);
    const Part part = part_of(v, count), row = merged_by_block<THREADS>(part, of_warps);
    const float scale = exp2f(part.shift - row.shift) / row.sum;
#pragma unroll
    for (int k = 0; k < COUNT; ++k)
        if (k < count) out[threadIdx.x + k * THREADS] = scaled(v[k], scale);
}

template <int COUNT>
bool launch_at_most(const Rows& rows) {
    if (rows.hidden > 4 * THREADS * COUNT) return false;
    softmax_04_float4<COUNT><<<harness::blocks_for(rows.rows, 1), THREADS>>>(rows);
    return true;
}

bool launch(const Rows& rows) {
    return suits_float4(rows) && (launch_at_most<1>(rows) || launch_at_most<2>(rows) || launch_at_most<4>(rows) || launch_at_most<8>(rows));
}

int main(int argc, char** argv) { return harness::run<Task>(argc, argv, {"04_float4", launch}); }
