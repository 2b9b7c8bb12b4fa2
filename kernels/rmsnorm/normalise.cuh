// RMSNorm past the articles: a row is read once, by one bulk copy, and written once.
// `normalise_rows` is also the second half of the unfused rung of ../embedding-rmsnorm.
#pragma once

#include "../harness/rows.cuh"
#include "row.cuh"

// Two vectors a thread, or four where that takes more than 768 threads. Registers decide how many rows are under way: with
// 40 a thread, whatever the width, the blocks of an SM have about 48 KB of rows.
template <int VECTORS, class Element>
__global__ void __launch_bounds__(VECTORS == 2 ? 768 : 1024) rmsnorm_03_bulk_row(harness::Rows<Element> rows) {
    const size_t row = blockIdx.x * size_t(rows.hidden);
    normalise_at_once<VECTORS>(rows.in + row, rows.gamma, rows.out + row, rows.hidden);
}

// By the kernel for two vectors a thread, or that for four. False for rows that no vector suits, or that no block holds.
template <class Element>
bool normalise_at_once_by(void (*by_two)(harness::Rows<Element>), void (*by_four)(harness::Rows<Element>), const harness::Rows<Element>& rows) {
    if (rows.hidden % 8 || !harness::is_aligned(rows.in, 16) || !harness::is_aligned(rows.gamma, 16) || !harness::is_aligned(rows.out, 16))
        return false;
    const bool two = threads_of_row(rows.hidden, 2) <= 768;
    const auto kernel = two ? by_two : by_four;
    const unsigned threads = threads_of_row(rows.hidden, two ? 2 : 4);
    const size_t row_bytes = rows.hidden * sizeof(Element);
    if (threads > 1024 || !allow_shared(kernel, row_bytes)) return false;
    kernel<<<harness::blocks_for(rows.rows, 1), threads, row_bytes>>>(rows);
    return true;
}

// Rows that no vector divides, that start off their alignment or that are wider than 32768.
template <class Element>
__global__ void __launch_bounds__(256) rmsnorm_03_two_passes(harness::Rows<Element> rows) {
    const size_t row = blockIdx.x * size_t(rows.hidden);
    normalise_in_two_passes(rows.in + row, rows.gamma, rows.out + row, rows.hidden);
}

template <class Element>
void normalise_rows(const harness::Rows<Element>& rows) {
    if (normalise_at_once_by(rmsnorm_03_bulk_row<2, Element>, rmsnorm_03_bulk_row<4, Element>, rows)) return;
    rmsnorm_03_two_passes<<<harness::blocks_for(rows.rows, 1), 256>>>(rows);
}
