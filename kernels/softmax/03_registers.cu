// Rung 3: the row is read once and stays in registers.
//
// Change from rung 2: a thread asks for all its elements before it uses the first, and keeps them. The largest of its own is
// known before it exponentiates, so each element takes one exponential; the pairs are merged as before.
// Expect: the loads of one pass, and every byte of the row under way at once: DRAM close to its wall, unless 32 bits an access
// take too many instructions.
//
//      block r, 512 threads:   | t0 t1 ... t511 | t0 t1 ... t511 | ...   row r, hidden floats, once
//      a thread's registers:     v[0]             v[1]
//
// Any alignment. Refuses rows of more than 8192.
#include "softmax.cuh"

constexpr int THREADS = 512;

template <int COUNT>
__global__ void __launch_bounds__(THREADS) softmax_03_registers(Rows rows) {
    __shared__ Part of_warps[THREADS / 32];
    const float* in = rows.in + blockIdx.x * size_t(rows.hidden);
    float* out = rows.out + blockIdx.x * size_t(rows.hidden);
    const int count = int((rows.hidden + THREADS - 1 - threadIdx.x) / THREADS);
    float v[COUNT];
#pragma unroll
    for (int k = 0; k < COUNT; ++k) v[k] = k < count ? in[threadIdx.x + k * THREADS] : LOWEST;
    const Part part = part_of(v, count), row = merged_by_block<THREADS>(part, of_warps);
    const float scale = exp2f(part.shift - row.shift) / row.sum;
#pragma unroll
    for (int k = 0; k < COUNT; ++k)
        if (k < count) out[threadIdx.x + k * THREADS] = v[k] * scale;
}

template <int COUNT>
bool launch_at_most(const Rows& rows) {
    if (rows.hidden > THREADS * COUNT) return false;
    softmax_03_registers<COUNT><<<harness::blocks_for(rows.rows, 1), THREADS>>>(rows);
    return true;
}

bool launch(const Rows& rows) { return launch_at_most<2>(rows) || launch_at_most<8>(rows) || launch_at_most<16>(rows); }

int main(int argc, char** argv) { return harness::run<Task>(argc, argv, {"03_registers", launch}); }
