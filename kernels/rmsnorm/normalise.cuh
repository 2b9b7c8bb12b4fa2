// RMSNorm past the articles: a row is read once, 128 bits at a time, and stays in the registers of its block.
// `normalise_rows` is also the second half of the unfused rung of ../embedding-rmsnorm.
#pragma once

#include "../harness/rows.cuh"
#include "row.cuh"

// Two blocks an SM even where a row takes 1024 threads: while one waits for its row, another writes.
template <int VECTORS, class Element>
__global__ void __launch_bounds__(1024, VECTORS == 4 ? 1 : 2) rmsnorm_03_registers(harness::Rows<Element> rows) {
    const size_t row = blockIdx.x * size_t(rows.hidden);
    normalise_in_registers<VECTORS>(rows.in + row, rows.gamma, rows.out + row, rows.hidden);
}

// Rows that no vector divides, that start off their alignment or that no block's registers hold.
template <class Element>
__global__ void __launch_bounds__(256) rmsnorm_03_two_passes(harness::Rows<Element> rows) {
    const size_t row = blockIdx.x * size_t(rows.hidden);
    normalise_in_two_passes(rows.in + row, rows.gamma, rows.out + row, rows.hidden);
}

template <class Element>
void normalise_rows(const harness::Rows<Element>& rows) {
    const unsigned blocks = harness::blocks_for(rows.rows, 1);
    const bool vectors = rows.hidden % 8 == 0 && harness::is_aligned(rows.in, 16) && harness::is_aligned(rows.gamma, 16) &&
                         harness::is_aligned(rows.out, 16);
    const bool done = vectors && with_row_shape(rows.hidden, [&](auto each, unsigned threads) {
        rmsnorm_03_registers<each><<<blocks, threads>>>(rows);
    });
    if (!done) rmsnorm_03_two_passes<<<blocks, 256>>>(rows);
}
