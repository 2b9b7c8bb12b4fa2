// RMSNorm past the articles: a row is read once, 128 bits at a time, and stays in the registers of its block.
// `normalise_rows` is also the second half of the unfused rung of ../embedding-rmsnorm.
#pragma once

#include "../harness/rows.cuh"
#include "row.cuh"

template <class Shape, class Element>
__global__ void __launch_bounds__(Shape::THREADS) rmsnorm_03_registers(harness::Rows<Element> rows) {
    const size_t row = blockIdx.x * size_t(rows.hidden);
    normalise_in_registers<Shape::THREADS, Shape::VECTORS>(rows.in + row, rows.gamma, rows.out + row, rows.hidden);
}

// Rows that no vector divides, that start off their alignment or that no block's registers hold.
template <class Element>
__global__ void __launch_bounds__(256) rmsnorm_03_two_passes(harness::Rows<Element> rows) {
    const size_t row = blockIdx.x * size_t(rows.hidden);
    normalise_in_two_passes<256>(rows.in + row, rows.gamma, rows.out + row, rows.hidden);
}

template <class Element>
void normalise_rows(const harness::Rows<Element>& rows) {
    const unsigned blocks = harness::blocks_for(rows.rows, 1);
    const bool vectors = rows.hidden % 8 == 0 && harness::is_aligned(rows.in, 16) && harness::is_aligned(rows.gamma, 16) &&
                         harness::is_aligned(rows.out, 16);
    const bool done = vectors && with_row_shape(rows.hidden, [&](auto shape) {
        rmsnorm_03_registers<decltype(shape)><<<blocks, shape.THREADS>>>(rows);
    });
    if (!done) rmsnorm_03_two_passes<<<blocks, 256>>>(rows);
}
