// Rung 8: a block also asks for a row that a block after it will want.
//
// Change from rung 7: the last thread of a block reads the id of the token 256 further on (2 MB of rows), and has its row brought into
// the L2 by one instruction, with the same policy.
// Expect: more rows under way than an SM's registers hold blocks. It was worth 1.4 points without the policy and up to 5 with it
// where six blocks share an SM; here eight do: half a point.
//
// Widths and alignments as in rung 2. Hopper and later; as rung 2 before.
#include "one_pass.cuh"

constexpr uint32_t BYTES_AHEAD = 2 << 20;

__global__ void __launch_bounds__(MOST_THREADS) embedding_rmsnorm_08_prefetched(harness::Lookup<__half> lookup, const __half* gamma) {
#ifdef HARNESS_BULK_COPIES
    const uint32_t row_bytes = lookup.hidden * sizeof(__half);
    const size_t later = blockIdx.x + size_t(BYTES_AHEAD / row_bytes);
    if (threadIdx.x == blockDim.x - 1 && later < lookup.tokens)
        if (const __half* row = lookup.row_of(later)) harness::prefetch_bulk(row, row_bytes, harness::leave_last());
#endif
    normalise_row_of<true>(lookup, blockIdx.x, gamma);
}

bool launch(const Fused& fused) { return launch_by(embedding_rmsnorm_08_prefetched, fused); }

int main(int argc, char** argv) { return harness::run<EmbeddingRmsNorm>(argc, argv, {"08_prefetched", launch}); }
