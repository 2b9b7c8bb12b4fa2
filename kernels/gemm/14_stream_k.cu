// Rung 14: back on the CUDA cores; the last wave of tiles is cut along k, so that no SM idles while others finish.
//
// Change from rung 9: there, every block computes one tile, and 2048 tiles on 132 SMs with room for four blocks each are 3.88 waves, of
// which the fourth lasts as long as a full one. Here the tiles of the incomplete wave are laid end to end, slab after slab, and cut into
// equal shares, one for each block that fits the GPU. Those who share a tile add up in pairs, through the L2. A warp copies 4 rows
// by 8 columns of A at once (rung 9: 2 by 16), which is faster though it takes more passes, and a thread's four copies of B are in one row.
// Expect: SMs active for all of the time instead of 97 %, and that much faster; far more where tiles are few and k is long.
//
//      slabs of the incomplete wave   |   tile 0   |   tile 1   |   tile 2   |  tile 3  ...       a share may end one tile
//      sharers                        |    0    |    1    |    2    |    3    |    4 ...          and begin the next
//
//      who holds a tile's first slab stores it, after            sums:  0 <- 1   2 <- 3    then   0 <- 2 ...
//
// Nobody waits for a block that may never start: all sharers fit the GPU at once, and sums come from those that were launched earlier.
// Traffic per element: somewhat more from memory than in rung 9, whose blocks are all at the same k; and for each share at most one tile
// of partial sums there and back, through the L2.
// Where C has few rows, a tile has 16 instead of 64.
// Rows of B and C that are multiples of 16 bytes go by 16 bytes also where tiles overhang.
#include "harness.cuh"
#include "stream_k.cuh"
#include "transposed.cuh"

template <class T, Fit FIT>
__global__ void __launch_bounds__(T::THREADS, least_blocks<T>)
gemm_14_stream_k(int m, int n, int k, const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, Plan plan) {
    constexpr int BM = T::BM, BN = T::BN, BK = T::BK, TM = T::TM, TN = T::TN, WM = T::WM, WN = T::WN, THREADS = T::THREADS;
    constexpr int STAGES = T::STAGES, STAGE_BYTES = T::STAGE_BYTES, A_STRIDE = T::A_STRIDE, B_LANES = T::B_LANES;
    constexpr int ROW_BAND = T::ROW_BAND, COL_BAND = T::COL_BAND;
    extern __shared__ float4 shared[];
    char* const stages = reinterpret_cast<char*>(shared);
    const int a_row = threadIdx.x / A_LANES, a_col = threadIdx.x % A_LANES;
    const int b_row = threadIdx.x / B_LANES, b_col = threadIdx.x % B_LANES * 4;
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int row = warp / (BN / WN) * WM + (lane % 2 + lane / 16 * 2) * 4;
    const int col = warp % (BN / WN) * WN + lane / 2 % 8 * 4;
    // Offsets in bytes, which a stage's own is added to: its number times its size would be multiplied where it is used.
    const uint32_t a_to = shared_address(stages) + 4 * (a_col * A_STRIDE + a_row);
    const uint32_t b_to = shared_address(stages) + 4 * (T::A_FLOATS + b_row * BN + b_col);
    const uint32_t a_part_at = 4 * row, b_part_at = 4 * (T::A_FLOATS + col);

    int slab = plan.begin();
    const int end = plan.end();

    while (slab < end) {  // a tile, or this block's part of one
        const int tile = slab / plan.slabs_of_tile, tile_end = (tile + 1) * plan.slabs_of_tile;
        const int row0 = tile / plan.tiles_across * BM, col0 = tile % plan.tiles_across * BN;
        const int k_begin = (slab - tile * plan.slabs_of_tile) * BK;
        const int k_end = min(k, (min(end, tile_end) - tile * plan.slabs_of_tile) * BK);
        Copies<T, FIT> copies{a_to, b_to, n, k, k_end,
                              a + size_t(row0 + a_row) * k + k_begin + a_col, b + size_t(k_begin + b_row) * n + col0 + b_col,
                              m - row0 - a_row, k - a_col, k - b_row, n - col0 - b_col};

        float sum[TM][TN] = {};
        float a_part[2][TM], b_part[2][TN];  // this k-step's fragments and the next one's
        const auto read_fragments = [&](int into, uint32_t stage, int kk) {
            const float* const as = reinterpret_cast<const float*>(stages + (a_part_at + stage));
            const float* const bs = reinterpret_cast<const float*>(stages + (b_part_at + stage));
#pragma unroll
            for (int i = 0; i < TM; i += 4) read_4(&a_part[into][i], as + kk * A_STRIDE + i / 4 * ROW_BAND);
#pragma unroll
            for (int j = 0; j < TN; j += 4) read_4(&b_part[into][j], bs + kk * BN + j / 4 * COL_BAND);
        };

#pragma unroll
        for (int s = 0; s < STAGES - 1; ++s) copies.queue(s * STAGE_BYTES, k_begin + s * BK);
        copy_async_wait<STAGES - 2>();
        __syncthreads();
        read_fragments(0, 0, 0);

        uint32_t reading = 0, writing = (STAGES - 1) * STAGE_BYTES;
        for (int k0 = k_begin; k0 < k_end; k0 += BK) {
#pragma unroll
            for (int kk = 0; kk < BK; ++kk) {
                if (kk == BK - 1) {
                    copy_async_wait<STAGES - 2>();
                    __syncthreads();
                    writing = reading;
                    reading = reading == (STAGES - 1) * STAGE_BYTES ? 0 : reading + STAGE_BYTES;
                }
                read_fragments((kk + 1) % 2, reading, (kk + 1) % BK);
                if (kk == 0) copies.queue(writing, k0 + (STAGES - 1) * BK);
                walk_in_rows<TM, TN>([&](int i, int j) { sum[i][j] += a_part[kk % 2][i] * b_part[kk % 2][j]; });
            }
        }

        const auto four = [&](int i, int x) { return make_float4(sum[i][x], sum[i][x + 1], sum[i][x + 2], sum[i][x + 3]); };
        if (add_up<THREADS>(plan, tile, sum, four)) {
#pragma unroll
            for (int i = 0; i < TM; ++i) {
                const int c_row = row0 + row + i / 4 * ROW_BAND + i % 4;
#pragma unroll
                for (int x = 0; x < TN; x += 4) {
                    const int c_col = col0 + col + x / 4 * COL_BAND;
                    store_c<FIT>(c + size_t(c_row) * n + c_col, c_row < m ? n - c_col : 0,
                                 four(i, x));
                }
            }
        }
        slab = tile_end;
        __syncthreads();  // the next tile's slabs overwrite what the last fragments are read from
    }
}

template <class T, Fit FIT>
void launch_as(const harness::Gemm<float>& g) {
    const auto kernel = gemm_14_stream_k<T, FIT>;
    static const Sharers sharers(kernel, T::THREADS, T::SHARED_BYTES, T::BM * T::BN);
    const Plan plan = sharers.plan(g, T::BM, T::BN, T::BK);
    kernel<<<sharers.blocks(plan, g, T::BM, T::BN), T::THREADS, T::SHARED_BYTES>>>(g.m, g.n, g.k, g.a, g.b, g.c, plan);
}

template <class T>
void launch_with(const harness::Gemm<float>& g) {
    if (g.m % T::BM == 0 && g.n % T::BN == 0 && g.k % T::BK == 0) launch_as<T, WHOLE>(g);
    else if (g.n % 4 == 0) launch_as<T, WIDE>(g);
    else launch_as<T, ANY>(g);
}

// Few rows would leave most of a tile of 64 rows empty. Of eleven tiles, 16 x 256 is the fastest at 16 rows, and 64 x 128 at 64.
void launch(const harness::Gemm<float>& g) {
    if (g.m <= 32) launch_with<TransposedTile<16, 256, 16, 4, 8, 2, 4>>(g);
    else launch_with<TransposedTile<64, 128, 16, 8, 8, 2, 4>>(g);
}

int main(int argc, char** argv) { return harness::run<harness::Multiplication<float>>(argc, argv, {"14_stream_k", launch}); }
