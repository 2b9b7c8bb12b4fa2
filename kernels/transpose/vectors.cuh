// A 4 x 4 square of floats in a thread's registers, and the tiles that squares of a tile of 64 x 64 make.
#pragma once

#include "../harness/policy.cuh"
#include "transpose.cuh"

constexpr int TILE = 64, SQUARES = TILE / 4, THREADS = SQUARES * SQUARES;

// Four rows of four become four columns.
__device__ __forceinline__ void transpose_square(float4 (&rows)[4]) {
    const float4 a = rows[0], b = rows[1], c = rows[2], d = rows[3];
    rows[0] = make_float4(a.x, b.x, c.x, d.x);
    rows[1] = make_float4(a.y, b.y, c.y, d.y);
    rows[2] = make_float4(a.z, b.z, c.z, d.z);
    rows[3] = make_float4(a.w, b.w, c.w, d.w);
}

// A tile by 128-bit accesses. A row c of the staged tile has its float4 number j at j ^ (c / 4 % 8).
template <bool KEPT>
__device__ __forceinline__ void move_tile(const Matrix& matrix, Tile tile) {
    __shared__ float4 staged[TILE][SQUARES];
    const uint32_t x = threadIdx.x % SQUARES, y = threadIdx.x / SQUARES;
    float4 square[4];
#pragma unroll
    for (uint32_t k = 0; k < 4; ++k) {
        const uint32_t row = tile.row + 4 * y + k, column = tile.column + 4 * x;
        if (row >= matrix.rows || column >= matrix.columns) continue;
        const float4* from = reinterpret_cast<const float4*>(matrix.in + row * size_t(matrix.columns) + column);
        square[k] = KEPT ? harness::load_to_keep(from) : *from;
    }
    transpose_square(square);
#pragma unroll
    for (uint32_t k = 0; k < 4; ++k) staged[4 * x + k][y ^ (x % 8)] = square[k];
    __syncthreads();
#pragma unroll
    for (uint32_t k = 0; k < 4; ++k) {
        const uint32_t c = y + k * SQUARES, column = tile.column + c, row = tile.row + 4 * x;
        if (column < matrix.columns && row < matrix.rows)
            *reinterpret_cast<float4*>(matrix.out + column * size_t(matrix.rows) + row) = staged[c][x ^ (c / 4 % 8)];
    }
}

// For shapes and alignments that vectors do not suit: element by element.
static __global__ void __launch_bounds__(256) transpose_by_elements(Matrix matrix) {
    __shared__ float staged[32][32];
    const Tile tile = tile_of_block<32>(matrix);
    const uint32_t x = threadIdx.x;
    for (uint32_t y = threadIdx.y; y < 32; y += 8)
        if (tile.row + y < matrix.rows && tile.column + x < matrix.columns)
            staged[y][y ^ x] = matrix.in[(tile.row + y) * size_t(matrix.columns) + tile.column + x];
    __syncthreads();
    for (uint32_t y = threadIdx.y; y < 32; y += 8)
        if (tile.column + y < matrix.columns && tile.row + x < matrix.rows)
            matrix.out[(tile.column + y) * size_t(matrix.rows) + tile.row + x] = staged[x][x ^ y];
}

inline bool launch_by_elements(const Matrix& matrix) {
    transpose_by_elements<<<blocks_of_tiles<32>(matrix), dim3(32, 8)>>>(matrix);
    return true;
}
