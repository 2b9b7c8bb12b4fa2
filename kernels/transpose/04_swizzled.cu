// Rung 4: the columns of the tile change places from row to row.
//
// Change from rung 3: no padding; element (y, x) lies in column y ^ x, and so in bank y ^ x.
// Expect: the speed of rung 3; a tile of 4,096 bytes and not 4,224. Rows stay aligned, which the next two rungs need.
//
// Any shape, any alignment.
#include "transpose.cuh"

constexpr int TILE = 32, ROWS_AT_ONCE = 8;

__global__ void __launch_bounds__(TILE * ROWS_AT_ONCE) transpose_04_swizzled(Matrix matrix) {
    __shared__ float staged[TILE][TILE];
    const Tile tile = tile_of_block<TILE>(matrix);
    const uint32_t x = threadIdx.x;
    float v[TILE / ROWS_AT_ONCE];
#pragma unroll
    for (uint32_t k = 0, y = threadIdx.y; y < TILE; ++k, y += ROWS_AT_ONCE)
        if (tile.row + y < matrix.rows && tile.column + x < matrix.columns)
            v[k] = matrix.in[(tile.row + y) * size_t(matrix.columns) + tile.column + x];
#pragma unroll
    for (uint32_t k = 0, y = threadIdx.y; y < TILE; ++k, y += ROWS_AT_ONCE) staged[y][y ^ x] = v[k];
    __syncthreads();
#pragma unroll
    for (uint32_t y = threadIdx.y; y < TILE; y += ROWS_AT_ONCE)
        if (tile.column + y < matrix.columns && tile.row + x < matrix.rows)
            matrix.out[(tile.column + y) * size_t(matrix.rows) + tile.row + x] = staged[x][x ^ y];
}

bool launch(const Matrix& matrix) {
    transpose_04_swizzled<<<blocks_of_tiles<TILE>(matrix), dim3(TILE, ROWS_AT_ONCE)>>>(matrix);
    return true;
}

int main(int argc, char** argv) { return harness::run<Transposition>(argc, argv, {"04_swizzled", launch}); }
