// Rung 8: the loads ask the caches to keep the row.
//
// Change from rung 3: each load of x says to L1 and L2 that what it brings is to leave last.
// Expect: from bytes, nothing, as no element is read again. But PyTorch's compiled kernel (rung 7), which is ahead of rung 3,
// marks its reads so: up to its 101 % of the copy.
//
//      block r, 512 threads, float4:   | t0 t1 ... t511 | t0 t1 ... t511 |    row r of 4096 floats
//      a thread's registers:             v[0]             v[1]
//
// Traffic: 4 bytes read and 4 written an element, once; gamma and beta come from the caches. No hints before sm_80.
// Any alignment: elements instead of vectors where those do not suit. Refuses rows too wide for the registers of 1024
// threads with eight vectors each: 32768 floats, or 8192 where vectors do not suit.
#include "../harness/policy.cuh"
#include "layernorm.cuh"

template <class Vector, int THREADS, int COUNT>
__global__ void __launch_bounds__(THREADS) layernorm_08_kept_in_l2(Rows rows) {
    constexpr int WIDTH = sizeof(Vector) / sizeof(float);
    __shared__ float of_warps[2][THREADS / 32];
    const uint32_t vectors = rows.hidden / WIDTH;
    const Vector* in = reinterpret_cast<const Vector*>(rows.in) + blockIdx.x * size_t(vectors);
    const Vector* gamma = reinterpret_cast<const Vector*>(rows.gamma);
    const Vector* beta = reinterpret_cast<const Vector*>(rows.beta);
    Vector* out = reinterpret_cast<Vector*>(rows.out) + blockIdx.x * size_t(vectors);
    Vector v[COUNT];
    float sum = 0, squares = 0;
#pragma unroll
    for (int k = 0; k < COUNT; ++k)
        if (threadIdx.x + k * THREADS < vectors) v[k] = harness::load_to_keep(in + threadIdx.x + k * THREADS);
#pragma unroll
    for (int k = 0; k < COUNT; ++k)
        if (threadIdx.x + k * THREADS < vectors) sum += sum_of(v[k]);
    const float mean = harness::block_sum<THREADS>(sum, of_warps[0]) / float(rows.hidden);
#pragma unroll
    for (int k = 0; k < COUNT; ++k)
        if (threadIdx.x + k * THREADS < vectors) squares += squares_of(v[k], mean);
    const float variance = harness::block_sum<THREADS>(squares, of_warps[1]) / float(rows.hidden);
    const float scale = rsqrtf(variance + EPSILON);
#pragma unroll
    for (int k = 0; k < COUNT; ++k) {
        const uint32_t i = threadIdx.x + k * THREADS;
        if (i < vectors) out[i] = normalized(v[k], mean, scale, __ldg(gamma + i), __ldg(beta + i));
    }
}

template <class Vector, int THREADS, int COUNT>
bool launch_at_most(const Rows& rows) {
    if (rows.hidden * sizeof(float) > THREADS * COUNT * sizeof(Vector)) return false;
    layernorm_08_kept_in_l2<Vector, THREADS, COUNT><<<unsigned(rows.rows), THREADS>>>(rows);
    return true;
}

template <class Vector>
bool launch_by(const Rows& rows) {
    return launch_at_most<Vector, 256, 1>(rows) || launch_at_most<Vector, 256, 2>(rows) ||
           launch_at_most<Vector, 512, 2>(rows) || launch_at_most<Vector, 512, 4>(rows) ||
           launch_at_most<Vector, 1024, 4>(rows) || launch_at_most<Vector, 1024, 8>(rows);
}

bool launch(const Rows& rows) { return suits_float4(rows) ? launch_by<float4>(rows) : launch_by<float>(rows); }

int main(int argc, char** argv) { return harness::run<Task>(argc, argv, {"08_kept_in_l2", launch}); }
