// Rung 5: a warp takes a row of up to 1024, a block of as many threads as fit takes a wider one.
//
// Change from rung 4: as few threads a row as hold it in at most eight vectors each. Within a warp the pairs are merged by
// shuffles alone; there is no barrier, and eight rows share a block.
// Expect: at 4096, where a row has 512 threads as before, nothing. At 512, where rung 4 leaves three of four threads idle, the
// speed of a copy.
//
//      up to 1024:    block, 8 warps:   row 8b | row 8b + 1 | ... | row 8b + 7       no barrier
//      wider:         block r, 256 to 1024 threads: row r
//
// Any shape, any alignment: elements instead of vectors where those do not suit, and rung 2 for rows wider than registers hold.
#include "two_passes.cuh"

template <class Vector>
__device__ __forceinline__ Vector lowest();
template <>
__device__ __forceinline__ float lowest<float>() { return LOWEST; }
template <>
__device__ __forceinline__ float4 lowest<float4>() { return make_float4(LOWEST, LOWEST, LOWEST, LOWEST); }

constexpr int ROWS_OF_BLOCK = 8;

// A row by THREADS threads: a block of them, or one of eight warps of a block.
template <class Vector, int THREADS, int COUNT>
__global__ void __launch_bounds__(THREADS == 32 ? 32 * ROWS_OF_BLOCK : THREADS) softmax_05_by_size(Rows rows) {
    __shared__ Part of_warps[THREADS / 32];
    const uint32_t vectors = rows.hidden / (sizeof(Vector) / sizeof(float)), thread = threadIdx.x % THREADS;
    const size_t row = THREADS == 32 ? blockIdx.x * size_t(ROWS_OF_BLOCK) + threadIdx.x / 32 : blockIdx.x;
    if (row >= rows.rows) return;  // whole warps
    const Vector* in = reinterpret_cast<const Vector*>(rows.in) + row * vectors;
    Vector* out = reinterpret_cast<Vector*>(rows.out) + row * vectors;
    const int count = int((vectors + THREADS - 1 - thread) / THREADS);
    Vector v[COUNT];
#pragma unroll
    for (int k = 0; k < COUNT; ++k) v[k] = k < count ? in[thread + k * THREADS] : lowest<Vector>();
    const Part part = part_of(v, count);
    const Part whole = THREADS == 32 ? merged_by_warp(part) : merged_by_block<THREADS>(part, of_warps);
    const float scale = exp_below(part.largest, whole.largest) / whole.sum;
#pragma unroll
    for (int k = 0; k < COUNT; ++k)
        if (k < count) out[thread + k * THREADS] = scaled(v[k], scale);
}

template <class Vector, int THREADS, int COUNT>
bool launch_at_most(const Rows& rows) {
    constexpr int rows_of_block = THREADS == 32 ? ROWS_OF_BLOCK : 1;
    if (rows.hidden * sizeof(float) > THREADS * COUNT * sizeof(Vector)) return false;
    softmax_05_by_size<Vector, THREADS, COUNT><<<harness::blocks_for(rows.rows, rows_of_block), THREADS * rows_of_block>>>(rows);
    return true;
}

bool launch(const Rows& rows) {
    if (suits_float4(rows))
        return launch_at_most<float4, 32, 1>(rows) || launch_at_most<float4, 32, 2>(rows) || launch_at_most<float4, 32, 4>(rows) ||
               launch_at_most<float4, 32, 8>(rows) || launch_at_most<float4, 256, 2>(rows) || launch_at_most<float4, 512, 2>(rows) ||
               launch_at_most<float4, 512, 4>(rows) || launch_at_most<float4, 1024, 4>(rows) ||
               launch_at_most<float4, 1024, 8>(rows) || launch_two_passes(rows);
    return launch_at_most<float, 32, 8>(rows) || launch_at_most<float, 32, 32>(rows) || launch_at_most<float, 256, 8>(rows) ||
           launch_at_most<float, 512, 8>(rows) || launch_at_most<float, 512, 16>(rows) || launch_at_most<float, 1024, 16>(rows) ||
           launch_two_passes(rows);
}

int main(int argc, char** argv) { return harness::run<Task>(argc, argv, {"05_by_size", launch}); }
