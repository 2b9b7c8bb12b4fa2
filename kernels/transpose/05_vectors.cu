// Rung 5: 128 bits an access, of global and of shared memory.
//
// Change from rung 4: a thread loads a square of 4 x 4 by four float4, transposes it in registers, and stores it into a tile of
// 64 x 64 by float4; the swizzle moves whole float4.
// Expect: a quarter of the memory instructions, and 64 bytes under way a thread: the speed of the copy, or a little less, since
// a piece of a row is 256 bytes long and its neighbours belong to other blocks.
//
//      in  --LDG.128-->  4 x 4 in registers  --STS.128-->  | 64 x 64 of shared memory |  --LDS.128-->  --STG.128-->  out
//      16 threads read 256 bytes of a row; row c of the staged tile has its float4 number j at j ^ (c / 4 % 8)
//
// Any shape, any alignment: rung 4 where vectors do not suit.
#include "vectors.cuh"

__global__ void __launch_bounds__(THREADS) transpose_05_vectors(Matrix matrix) {
    move_tile<false>(matrix, tile_of_block<TILE>(matrix));
}

bool launch(const Matrix& matrix) {
    if (!suits_float4(matrix)) return launch_by_elements(matrix);
    transpose_05_vectors<<<blocks_of_tiles<TILE>(matrix), THREADS>>>(matrix);
    return true;
}

int main(int argc, char** argv) { return harness::run<Transposition>(argc, argv, {"05_vectors", launch}); }
