// Rung 10: the loads ask the caches to keep what they bring.
//
// Change from rung 5: each load says to L1 and L2 that its lines are to leave last.
// Expect: from bytes, nothing, as no element is read again; from the other ladders two to three points, 97 % of the copy.
//
// Any shape and alignment, as rung 5. No hints before sm_80.
#include "vectors.cuh"

__global__ void __launch_bounds__(THREADS) transpose_10_kept_in_l2(Matrix matrix) {
    move_tile<true>(matrix, tile_of_block<TILE>(matrix));
}

bool launch(const Matrix& matrix) {
    if (!suits_float4(matrix)) return launch_by_elements(matrix);
    transpose_10_kept_in_l2<<<blocks_of_tiles<TILE>(matrix), THREADS>>>(matrix);
    return true;
}

int main(int argc, char** argv) { return harness::run<Transposition>(argc, argv, {"10_kept_in_l2", launch}); }
