// Rung 11: the blocks walk along the rows of the output.
//
// Change from rung 10: neighbouring blocks take tiles below each other in the input, which lie beside each other in the output.
// Expect: as many bytes and instructions. Blocks that run at the same time now write neighbouring pieces of the same rows and
// read pieces 64 rows apart: 2 points, 99 % of the copy, as a probe of such tiles gave.
//
//      input, rung 10:   | 0 | 1 | 2 | ...        input, rung 11:   | 0 | n     | ...        output:   | 0 | 1 | 2 | ...
//                        | n | n + 1 | ...                          | 1 | n + 1 | ...                  | n | n + 1 | ...
//
// Any shape and alignment, as rung 5. No hints before sm_80.
#include "vectors.cuh"

__global__ void __launch_bounds__(THREADS) transpose_11_along_output(Matrix matrix) {
    const uint32_t down = (matrix.rows + TILE - 1) / TILE;
    move_tile<true>(matrix, {blockIdx.x % down * TILE, blockIdx.x / down * TILE});
}

bool launch(const Matrix& matrix) {
    if (!suits_float4(matrix)) return launch_by_elements(matrix);
    transpose_11_along_output<<<blocks_of_tiles<TILE>(matrix), THREADS>>>(matrix);
    return true;
}

int main(int argc, char** argv) { return harness::run<Transposition>(argc, argv, {"11_along_output", launch}); }
