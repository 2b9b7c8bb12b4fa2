// A row gathered and normalised in one pass, for rungs 2, 7 and 8, each of which calls it from a kernel of its own name. Rows that
// no vector suits are read twice, by the same kernel for all rungs.
#pragma once

#include "embedding_rmsnorm.cuh"

constexpr int VECTORS = 4, MOST_THREADS = 1024;

static __device__ void write_zeros(__half* row, uint32_t hidden) {
    for (uint32_t i = threadIdx.x; i < hidden; i += blockDim.x) row[i] = __half(0.0f);
}

template <bool KEPT>
__device__ __forceinline__ void normalise_row_of(const harness::Lookup<__half>& lookup, size_t token, const __half* gamma) {
    __half* out = lookup.out + token * lookup.hidden;
    if (const __half* row = lookup.row_of(token)) normalise_at_once<VECTORS, KEPT>(row, gamma, out, lookup.hidden);
    else write_zeros(out, lookup.hidden);
}

static __global__ void __launch_bounds__(256) embedding_rmsnorm_two_passes(harness::Lookup<__half> lookup, const __half* gamma) {
    const size_t token = blockIdx.x;
    __half* out = lookup.out + token * lookup.hidden;
    if (const __half* row = lookup.row_of(token)) normalise_in_two_passes(row, gamma, out, lookup.hidden);
    else write_zeros(out, lookup.hidden);
}

inline bool launch_by(void (*kernel)(harness::Lookup<__half>, const __half*), const Fused& fused) {
    const harness::Lookup<__half>& lookup = fused.lookup;
    const unsigned blocks = harness::blocks_for(lookup.tokens, 1), threads = threads_of_row(lookup.hidden, VECTORS);
    const size_t row_bytes = lookup.hidden * sizeof(__half);
    const bool vectors = harness::has_aligned_rows(lookup.table, lookup.hidden) &&
                         harness::has_aligned_rows(lookup.out, lookup.hidden) && harness::is_aligned(fused.gamma, 16);
    if (vectors && threads <= MOST_THREADS && allow_shared(kernel, row_bytes))
        kernel<<<blocks, threads, row_bytes>>>(lookup, fused.gamma);
    else
        embedding_rmsnorm_two_passes<<<blocks, 256>>>(lookup, fused.gamma);
    return true;
}
