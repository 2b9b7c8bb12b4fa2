// Rung 2: one pass: a block gathers a row, normalises it in registers, and writes the result.
//
// Change from rung 1: the row that was gathered is normalised where it is; no rows in between.
// Expect: half of the traffic in half of the time, one launch less. What is left is the lookup's own traffic, since the
// arithmetic fits under it: as fast as the device's copy.
//
//      ids  -->  | table |  --bulk copy-->  | shared memory |  --LDS.128-->  registers of block t  --STG.128-->  | out |
//
//      row of 4096, 128 threads   | t0 ... t127 | t0 ... t127 | t0 ... t127 | t0 ... t127 |     16 bytes each, four a thread
//      8 blocks an SM, by registers: 64 KB under way; more than the RMSNorm needs, as ids are waited for as well
//
// Any width and alignment: what no vector divides, is off its alignment or wider than 32768 is read twice, element by element.
#include "embedding_rmsnorm.cuh"

__device__ void write_zeros(__half* row, uint32_t hidden) {
    for (uint32_t i = threadIdx.x; i < hidden; i += blockDim.x) row[i] = __half(0.0f);
}

constexpr int VECTORS = 4, MOST_THREADS = 1024;

__global__ void __launch_bounds__(MOST_THREADS) embedding_rmsnorm_02_fused(harness::Lookup<__half> lookup, const __half* gamma) {
    const size_t token = blockIdx.x;
    __half* out = lookup.out + token * lookup.hidden;
    if (const __half* row = lookup.row_of(token)) normalise_at_once<VECTORS>(row, gamma, out, lookup.hidden);
    else write_zeros(out, lookup.hidden);
}

__global__ void __launch_bounds__(256) embedding_rmsnorm_02_two_passes(harness::Lookup<__half> lookup, const __half* gamma) {
    const size_t token = blockIdx.x;
    __half* out = lookup.out + token * lookup.hidden;
    if (const __half* row = lookup.row_of(token)) normalise_in_two_passes(row, gamma, out, lookup.hidden);
    else write_zeros(out, lookup.hidden);
}

bool launch(const Fused& fused) {
    const harness::Lookup<__half>& lookup = fused.lookup;
    const unsigned blocks = harness::blocks_for(lookup.tokens, 1), threads = threads_of_row(lookup.hidden, VECTORS);
    const size_t row_bytes = lookup.hidden * sizeof(__half);
    const bool vectors = harness::has_aligned_rows(lookup.table, lookup.hidden) &&
                         harness::has_aligned_rows(lookup.out, lookup.hidden) && harness::is_aligned(fused.gamma, 16);
    if (vectors && threads <= MOST_THREADS && allow_shared(embedding_rmsnorm_02_fused, row_bytes))
        embedding_rmsnorm_02_fused<<<blocks, threads, row_bytes>>>(lookup, fused.gamma);
    else
        embedding_rmsnorm_02_two_passes<<<blocks, 256>>>(lookup, fused.gamma);
    return true;
}

int main(int argc, char** argv) { return harness::run<EmbeddingRmsNorm>(argc, argv, {"02_fused", launch}); }
