// The lookup past the articles, for rows of any element: a warp copies a row, all of it under way at once.
// `gather_rows` is also the first half of the unfused rung of ../embedding-rmsnorm.
#pragma once

#include "../harness/lookup.cuh"

constexpr int GATHER_WARPS = 4, GATHER_IN_FLIGHT = 8;

// Here a row is `hidden` vectors, whatever its elements are.
template <class Vector>
__global__ void __launch_bounds__(GATHER_WARPS * 32) embedding_07_whole_row(harness::Lookup<Vector> lookup) {
    const size_t token = blockIdx.x * size_t(GATHER_WARPS) + threadIdx.x / 32;
    if (token >= lookup.tokens) return;
    const Vector* from = lookup.row_of(token);
    Vector* to = lookup.out + token * lookup.hidden;
    for (uint32_t first = threadIdx.x % 32; first < lookup.hidden; first += 32 * GATHER_IN_FLIGHT) {
        Vector part[GATHER_IN_FLIGHT] = {};
#pragma unroll
        for (int k = 0; k < GATHER_IN_FLIGHT; ++k)
            if (from && first + k * 32 < lookup.hidden) part[k] = __ldcs(from + first + k * 32);
#pragma unroll
        for (int k = 0; k < GATHER_IN_FLIGHT; ++k)
            if (first + k * 32 < lookup.hidden) __stcs(to + first + k * 32, part[k]);
    }
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
    embedding_07_whole_row<<<harness::blocks_for(lookup.tokens, GATHER_WARPS), GATHER_WARPS * 32>>>(rows);
    return true;
}

// By the widest access that width and alignment allow.
template <class Element>
void gather_rows(const harness::Lookup<Element>& lookup) {
    gather_rows_by<uint4>(lookup) || gather_rows_by<uint2>(lookup) || gather_rows_by<uint32_t>(lookup) ||
        gather_rows_by<uint16_t>(lookup);
}
