// Rung 3: a row of the tile is one float longer.
//
// Change from rung 2: 33 floats a row, so that element (y, x) lies in bank (y + x) % 32.
// Expect: a column lies in 32 banks, one pass for each load; as fast as DRAM allows with few bytes a thread.
//
// Any shape, any alignment.
#include "transpose.cuh"

constexpr int TILE = 32, ROWS_AT_ONCE = 8;

__global__ void __launch_bounds__(TILE * ROWS_AT_ONCE) transpose_03_padded(Matrix matrix) {
    __shared__ float staged[TILE][TILE + 1];
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
    transpose_03_padded<<<blocks_of_tiles<TILE>(matrix), dim3(TILE, ROWS_AT_ONCE)>>>(matrix);
    return true;
}

int main(int argc, char** argv) { return harness::run<Transposition>(argc, argv, {"03_padded", launch}); }
