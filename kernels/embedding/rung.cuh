// What the rungs share that move a row of FP32 in float4s.
#pragma once

#include <algorithm>

#include "embedding.cuh"

// Both arrays aligned, and a width that whole float4s fill: else a row of the table and its copy are off their alignment by
// different amounts, and no head of scalars is right for both.
inline bool holds_float4s(const harness::Lookup<float>& lookup) {
    return harness::has_aligned_rows(lookup.table, lookup.hidden) && harness::has_aligned_rows(lookup.out, lookup.hidden);
}

// Threads that cover a row in one pass with `vectors` float4s each, in whole warps and at most `largest`.
inline unsigned threads_for(uint32_t hidden, unsigned vectors, unsigned largest) {
    const unsigned threads = (hidden / 4 + vectors - 1) / vectors;
    return std::min(largest, (threads + 31) / 32 * 32);
}
