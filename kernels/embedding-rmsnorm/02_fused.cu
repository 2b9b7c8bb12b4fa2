// Rung 2: one pass: a block gathers a row, normalises it in registers, and writes the result.
//
// Change from rung 1: the row that was gathered is normalised where it is; no rows in between.
// Expect: half of the traffic in half of the time, one launch less. What is left is the lookup's own traffic, since the
// arithmetic fits under it: as fast as the device's copy.
//
//      ids  -->  | table |  --LDG.E.128-->  registers of block t  --STG.E.128-->  | out |
//
//      row of 4096, 512 threads   | t0 | t1 | t2 | ... | t511 |     16 bytes each
//
// Any width and alignment: what no vector divides, is off its alignment or wider than 32768 is read twice, element by element.
#include "embedding_rmsnorm.cuh"

__device__ void write_zeros(__half* row, uint32_t hidden) {
    for (uint32_t i = threadIdx.x; i < hidden; i += blockDim.x) row[i] = __half(0.0f);
}

template <int VECTORS>
__global__ void __launch_bounds__(1024, VECTORS == 4 ? 1 : 2)
embedding_rmsnorm_02_fused(harness::Lookup<__half> lookup, const __half* gamma) {
    const size_t token = blockIdx.x;
    __half* out = lookup.out + token * lookup.hidden;
    if (const __half* row = lookup.row_of(token)) normalise_in_registers<VECTORS>(row, gamma, out, lookup.hidden);
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
    const unsigned blocks = harness::blocks_for(lookup.tokens, 1);
    const bool vectors = harness::has_aligned_rows(lookup.table, lookup.hidden) &&
                         harness::has_aligned_rows(lookup.out, lookup.hidden) && harness::is_aligned(fused.gamma, 16);
    const bool done = vectors && with_row_shape(lookup.hidden, [&](auto each, unsigned threads) {
        embedding_rmsnorm_02_fused<each><<<blocks, threads>>>(lookup, fused.gamma);
    });
    if (!done) embedding_rmsnorm_02_two_passes<<<blocks, 256>>>(lookup, fused.gamma);
    return true;
}

int main(int argc, char** argv) { return harness::run<EmbeddingRmsNorm>(argc, argv, {"02_fused", launch}); }
