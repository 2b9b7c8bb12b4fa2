// The lookup past the articles, for rows of any element: one thread, one vector, as the fastest copy does it.
// `gather_rows` is also the first half of the unfused rung of ../embedding-rmsnorm.
#pragma once

#include <algorithm>

#include "../harness/lookup.cuh"

constexpr unsigned GATHER_THREADS = 256;

// Here a row is `hidden` vectors, whatever its elements are, and `pieces` blocks copy it.
template <class Vector>
__global__ void __launch_bounds__(GATHER_THREADS) embedding_07_one_vector(harness::Lookup<Vector> lookup, uint32_t pieces) {
    const size_t token = blockIdx.x / pieces;
    const uint32_t i = blockIdx.x % pieces * blockDim.x + threadIdx.x;
    if (i >= lookup.hidden) return;
    const Vector* from = lookup.row_of(token);
    lookup.out[token * lookup.hidden + i] = from ? from[i] : Vector{};
}

// False where a row of either array starts off a vector's alignment.
template <class Vector, class Element>
bool gather_rows_by(const harness::Lookup<Element>& lookup) {
    const size_t row_bytes = lookup.hidden * sizeof(Element);
    if (row_bytes % sizeof(Vector) || !harness::is_aligned(lookup.table, sizeof(Vector)) ||
        !harness::is_aligned(lookup.out, sizeof(Vector)))
        return false;
    const harness::Lookup<Vector> rows = {lookup.tokens, uint32_t(row_bytes / sizeof(Vector)), lookup.vocab, lookup.ids,
                                          reinterpret_cast<const Vector*>(lookup.table),
                                          reinterpret_cast<Vector*>(lookup.out)};
    const unsigned threads = std::min(GATHER_THREADS, (rows.hidden + 31) / 32 * 32);
    const unsigned pieces = (rows.hidden + threads - 1) / threads;
    embedding_07_one_vector<<<harness::blocks_for(rows.tokens * pieces, 1), threads>>>(rows, pieces);
    return true;
}

// By the widest access that width and alignment allow.
template <class Element>
void gather_rows(const harness::Lookup<Element>& lookup) {
    gather_rows_by<uint4>(lookup) || gather_rows_by<uint2>(lookup) || gather_rows_by<uint32_t>(lookup) ||
        gather_rows_by<uint16_t>(lookup);
}
