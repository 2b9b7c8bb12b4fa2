// Rung 6: the tensor copy engine (TMA) brings the tile and takes it away.
//
// Change from rung 5: one thread asks for the tile as two boxes of 64 rows x 128 bytes, and writes two such boxes back; what
// lies outside the matrix is its business. Threads only turn squares of 4 x 4 in shared memory, in place.
// Expect: no load or store of global memory by threads, no address arithmetic, and as many bytes under way as rung 5: its speed,
// or that of the copy if instructions were what rung 5 waits for.
//
//      in  --two boxes-->  | 64 x 64 of shared memory |  --LDS.128--> 4 x 4 in registers --STS.128-->  same place  --two boxes-->  out
//      the engine's own swizzle: 16-byte piece j of a row of 128 bytes lies at j ^ (row % 8)
//
// Hopper and later. Any shape, any alignment: rung 4 where rows are no multiple of 16 bytes.
#include "../gemm/hopper.cuh"
#include "../gemm/rung.cuh"
#include "vectors.cuh"

constexpr int BOX_COLUMNS = 32, PIECES = BOX_COLUMNS / 4;  // 128 bytes; pieces of 16 bytes

struct Box {
    float4 rows[TILE][PIECES];
};

__global__ void __launch_bounds__(THREADS)
transpose_06_tma(const __grid_constant__ CUtensorMap in, const __grid_constant__ CUtensorMap out, uint32_t tiles_across) {
#if TARGET_HAS_TMA
    __shared__ __align__(1024) Box boxes[2];
    __shared__ uint64_t arrived;
    const int row = blockIdx.x / tiles_across * TILE, column = blockIdx.x % tiles_across * TILE;
    const uint32_t barrier = uint32_t(__cvta_generic_to_shared(&arrived)), memory = uint32_t(__cvta_generic_to_shared(boxes));
    if (threadIdx.x == 0) {
        barrier_init(barrier, 1);
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        barrier_expect(barrier, sizeof boxes);
        for (int i = 0; i < 2; ++i) copy_box(memory + i * sizeof(Box), &in, barrier, column + i * BOX_COLUMNS, row);
    }
    __syncthreads();
    barrier_wait(barrier, 0);
    // Eight neighbouring threads take squares of a diagonal: all of their rows and columns lie in different banks.
    const uint32_t lane = threadIdx.x % 8, rest = threadIdx.x / 8;
    const uint32_t x = lane + rest % 2 * PIECES, y = (lane + rest / 2) % PIECES + rest / 16 * PIECES;
    float4 square[4];
#pragma unroll
    for (uint32_t k = 0; k < 4; ++k) square[k] = boxes[x / PIECES].rows[4 * y + k][x % PIECES ^ (4 * y + k) % 8];
    transpose_square(square);
    __syncthreads();
#pragma unroll
    for (uint32_t k = 0; k < 4; ++k) boxes[y / PIECES].rows[4 * x + k][y % PIECES ^ (4 * x + k) % 8] = square[k];
    fence_async();
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int i = 0; i < 2; ++i) store_box(&out, memory + i * sizeof(Box), row + i * BOX_COLUMNS, column);
        store_box_commit();
        store_box_wait_read<0>();
    }
#endif
}

bool launch(const Matrix& matrix) {
    if (!suits_float4(matrix)) return launch_by_elements(matrix);
    const int rows = int(matrix.rows), columns = int(matrix.columns);
    const auto in = harness::tensor_map(matrix.in, rows, columns, TILE, BOX_COLUMNS, CU_TENSOR_MAP_SWIZZLE_128B);
    const auto out = harness::tensor_map(matrix.out, columns, rows, TILE, BOX_COLUMNS, CU_TENSOR_MAP_SWIZZLE_128B);
    transpose_06_tma<<<blocks_of_tiles<TILE>(matrix), THREADS>>>(in, out, (matrix.columns + TILE - 1) / TILE);
    return true;
}

int main(int argc, char** argv) { return harness::run<Transposition>(argc, argv, {"06_tma", launch}); }
