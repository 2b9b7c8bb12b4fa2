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
#include "one_pass.cuh"

__global__ void __launch_bounds__(MOST_THREADS) embedding_rmsnorm_02_fused(harness::Lookup<__half> lookup, const __half* gamma) {
    normalise_row_of<false>(lookup, blockIdx.x, gamma);
}

bool launch(const Fused& fused) { return launch_by(embedding_rmsnorm_02_fused, fused); }

int main(int argc, char** argv) { return harness::run<EmbeddingRmsNorm>(argc, argv, {"02_fused", launch}); }
