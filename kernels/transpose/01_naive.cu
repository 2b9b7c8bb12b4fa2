// Rung 1: a thread moves one element; a warp reads a piece of a row and writes a piece of a column.
//
// Change from nothing.
// Expect: a warp's load is 128 contiguous bytes; its store touches 32 sectors of 32 bytes for 4 bytes each. What neighbouring
// rows write into the same sectors must meet in the L2, or each sector is read and written several times.
//
//      in    row r:     | t0 t1 ... t31 |        out    column r:   t0      one row of the output each,
//                                                                   t1      `rows` elements apart
//                                                                   ...
//
// Any shape, any alignment.
#include "transpose.cuh"

constexpr int TILE = 32, ROWS_AT_ONCE = 8;

__global__ void __launch_bounds__(TILE * ROWS_AT_ONCE) transpose_01_naive(Matrix matrix) {
    const Tile tile = tile_of_block<TILE>(matrix);
    const uint32_t column = tile.column + threadIdx.x;
#pragma unroll
    for (uint32_t row = tile.row + threadIdx.y; row < tile.row + TILE; row += ROWS_AT_ONCE)
        if (row < matrix.rows && column < matrix.columns)
            matrix.out[column * size_t(matrix.rows) + row] = matrix.in[row * size_t(matrix.columns) + column];
}

bool launch(const Matrix& matrix) {
    transpose_01_naive<<<blocks_of_tiles<TILE>(matrix), dim3(TILE, ROWS_AT_ONCE)>>>(matrix);
    return true;
}

int main(int argc, char** argv) { return harness::run<Transposition>(argc, argv, {"01_naive", launch}); }
