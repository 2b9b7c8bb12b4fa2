// Rung 2: a tile passes through shared memory, so that a warp reads and writes contiguous bytes.
//
// Change from rung 1: a block reads a tile of 32 x 32 row by row, and writes it column by column of shared memory.
// Expect: every sector is read and written once and whole; DRAM is the wall, were it not for the reads of a column of shared
// memory, whose 32 elements lie in one bank: 32 passes for one load.
//
//      in  --rows-->  | 32 x 32 floats of shared memory |  --columns-->  out      element (y, x) in bank x
//
// Any shape, any alignment.
#include "transpose.cuh"

constexpr int TILE = 32, ROWS_AT_ONCE = 8;

__global__ void __launch_bounds__(TILE * ROWS_AT_ONCE) transpose_02_tiled(Matrix matrix) {
    __shared__ float staged[TILE][TILE];
    const Tile tile = tile_of_block<TILE>(matrix);
    const uint32_t x = threadIdx.x;
    float v[TILE / ROWS_AT_ONCE];
#pragma unroll
    for (uint32_t k = 0, y = threadIdx.y; y < TILE; ++k, y += ROWS_AT_ONCE)
        if (tile.row + y < matrix.rows && tile.column + x < matrix.columns)
            v[k] = matrix.in[(tile.row + y) * size_t(matrix.columns) + tile.column + x];
#pragma unroll
    for (uint32_t k = 0, y = threadIdx.y; y < TILE; ++k, y += ROWS_AT_ONCE) staged[y][x] = v[k];
    __syncthreads();
#pragma unroll
    for (uint32_t y = threadIdx.y; y < TILE; y += ROWS_AT_ONCE)
        if (tile.column + y < matrix.columns && tile.row + x < matrix.rows)
            matrix.out[(tile.column + y) * size_t(matrix.rows) + tile.row + x] = staged[x][y];
}

bool launch(const Matrix& matrix) {
    transpose_02_tiled<<<blocks_of_tiles<TILE>(matrix), dim3(TILE, ROWS_AT_ONCE)>>>(matrix);
    return true;
}

int main(int argc, char** argv) { return harness::run<Transposition>(argc, argv, {"02_tiled", launch}); }
