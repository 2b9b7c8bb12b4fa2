// Rung 1: one block a row, one float an access, the row read three times.
//
// Change from nothing: a pass for the mean, a pass for the variance around it, a pass that writes; after the first two the
// block adds its threads' sums by shuffles.
// Expect: DRAM moves each byte once, since 16 KB a row and 8 rows an SM stay in the L1 until they are read again: L1 hit rate
// above 50 %. The compiler unrolls the loops four times: 16 bytes a thread under way while the row is read first, nothing
// while it is read again. Five loads an element keep the LSU pipe and the issue slots busy.
//
//      block r, 256 threads:   | t0 t1 ... t255 | t0 t1 ... t255 | ...   row r, hidden floats, three times
//
// Traffic: 4 bytes read and 4 written an element; gamma and beta, 32 KB, come from the caches. Any shape, any alignment.
#include "layernorm.cuh"

constexpr int THREADS = 256;

__global__ void __launch_bounds__(THREADS) layernorm_01_scalar(Rows rows) {
    __shared__ float of_warps[2][THREADS / 32];
    const float* in = rows.in + blockIdx.x * size_t(rows.hidden);
    float* out = rows.out + blockIdx.x * size_t(rows.hidden);
    float sum = 0, squares = 0;
    for (uint32_t i = threadIdx.x; i < rows.hidden; i += THREADS) sum += in[i];
    const float mean = harness::block_sum<THREADS>(sum, of_warps[0]) / float(rows.hidden);
    for (uint32_t i = threadIdx.x; i < rows.hidden; i += THREADS) squares += squares_of(in[i], mean);
    const float variance = harness::block_sum<THREADS>(squares, of_warps[1]) / float(rows.hidden);
    const float scale = rsqrtf(variance + EPSILON);
    for (uint32_t i = threadIdx.x; i < rows.hidden; i += THREADS)
        out[i] = normalized(in[i], mean, scale, rows.gamma[i], rows.beta[i]);
}

bool launch(const Rows& rows) {
    layernorm_01_scalar<<<unsigned(rows.rows), THREADS>>>(rows);
    return true;
}

int main(int argc, char** argv) { return harness::run<Task>(argc, argv, {"01_scalar", launch}); }
