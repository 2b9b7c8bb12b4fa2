// Rung 1: one block a row, one float an access, the row read three times.
//
// Change from nothing: a pass for the largest element, a pass for the sum of exp(x - largest), a pass that writes. Without the
// largest, exp(x) overflows from x = 89 on.
// Expect: DRAM moves each byte once, since the rows under way stay in the L1 and L2; two of three reads hit there. What limits
// is how few bytes are under way, and the waits between passes.
//
//      block r, 256 threads:   | t0 t1 ... t255 | t0 t1 ... t255 | ...   row r, hidden floats, three times
//
// Any shape, any alignment.
#include "softmax.cuh"

constexpr int THREADS = 256;

__global__ void __launch_bounds__(THREADS) softmax_01_three_passes(Rows rows) {
    __shared__ float of_warps[2][THREADS / 32];
    const float* in = rows.in + blockIdx.x * size_t(rows.hidden);
    float* out = rows.out + blockIdx.x * size_t(rows.hidden);
    float largest = LOWEST, sum = 0;
    for (uint32_t i = threadIdx.x; i < rows.hidden; i += THREADS) largest = fmaxf(largest, in[i]);
    const float shift = harness::block_max<THREADS>(largest, of_warps[0]) * LOG2_E;
    for (uint32_t i = threadIdx.x; i < rows.hidden; i += THREADS) sum += exp_below(in[i], shift);
    const float scale = 1 / harness::block_sum<THREADS>(sum, of_warps[1]);
    for (uint32_t i = threadIdx.x; i < rows.hidden; i += THREADS) out[i] = exp_below(in[i], shift) * scale;
}

bool launch(const Rows& rows) {
    softmax_01_three_passes<<<harness::blocks_for(rows.rows, 1), THREADS>>>(rows);
    return true;
}

int main(int argc, char** argv) { return harness::run<Task>(argc, argv, {"01_three_passes", launch}); }
