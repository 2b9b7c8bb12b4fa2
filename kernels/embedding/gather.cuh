// The lookup past the articles, for rows of any element, width and alignment: pieces of 4 KB by cp.async.
// `gather_rows` is also the first half of the unfused rung of ../embedding-rmsnorm.
#pragma once

#include <algorithm>

#include "../harness/lookup.cuh"

constexpr unsigned GATHER_THREADS = 128, GATHER_VECTORS = 2;  // of a block, and of a thread

// cp.async of one vector, where there is one of that size.
template <class Vector>
__device__ __forceinline__ void copy_async(Vector* to_shared, const Vector* from) {
    const auto to = uint32_t(__cvta_generic_to_shared(to_shared));
    if constexpr (sizeof(Vector) == 16) asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
    else if constexpr (sizeof(Vector) >= 4)
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(to), "l"(from), "n"(sizeof(Vector)) : "memory");
    else *to_shared = *from;
}

// Here a row is `hidden` vectors, whatever its elements are, and `pieces` blocks copy it. Each thread stores what it fetched.
template <class Vector>
__global__ void __launch_bounds__(GATHER_THREADS) embedding_07_any_width(harness::Lookup<Vector> lookup, uint32_t pieces) {
    __shared__ Vector stage[GATHER_THREADS * GATHER_VECTORS];
    const size_t token = blockIdx.x / pieces;
    const uint32_t first = blockIdx.x % pieces * blockDim.x * GATHER_VECTORS + threadIdx.x;
    const Vector* from = lookup.row_of(token);
    Vector* to = lookup.out + token * lookup.hidden;
#pragma unroll
    for (unsigned k = 0, i = first; k < GATHER_VECTORS; ++k, i += blockDim.x)
        if (from && i < lookup.hidden) copy_async(&stage[threadIdx.x + k * GATHER_THREADS], from + i);
    asm volatile("cp.async.wait_all;" ::: "memory");
#pragma unroll
    for (unsigned k = 0, i = first; k < GATHER_VECTORS; ++k, i += blockDim.x)
        if (i < lookup.hidden) to[i] = from ? stage[threadIdx.x + k * GATHER_THREADS] : Vector{};
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
    // No more threads than the row has vectors for: of a narrow row none would have anything to do.
    const unsigned whole_warps = (rows.hidden + 32 * GATHER_VECTORS - 1) / (32 * GATHER_VECTORS) * 32;
    const unsigned threads = std::min(GATHER_THREADS, whole_warps), piece = threads * GATHER_VECTORS;
    const unsigned pieces = (rows.hidden + piece - 1) / piece;
    embedding_07_any_width<<<harness::blocks_for(rows.tokens * pieces, 1), threads>>>(rows, pieces);
    return true;
}

// By the widest access that width and alignment allow.
template <class Element>
void gather_rows(const harness::Lookup<Element>& lookup) {
    gather_rows_by<uint4>(lookup) || gather_rows_by<uint2>(lookup) || gather_rows_by<uint32_t>(lookup) ||
        gather_rows_by<uint16_t>(lookup);
}
