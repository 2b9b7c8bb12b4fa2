// Rung 20: FP32 on the CUDA cores once more: FMAs in order, a tile for each shape, and parts of a tile that are added up at once.
//
// Change from rung 14: there, one FMA in five reads two registers of one bank. Here reads and FMAs stay in the order that is written, as in rung 18
// (-Xptxas=-O1), and a tile leaves through shared memory, so that the sum of an even column lies in an odd register, and its factor of B in an even one.
// The tile is 16 x 256, 64 x 128 or 128 x 128, whichever is estimated to be fastest for the shape. Of three or more parts of a tile, rung 14 adds up two at a
// time, in one round after the other; here each of the blocks reads a share of the tile from all parts. Shares differ by a slab at most.
// Expect: half the conflicts of register banks and 2 to 3 % less time at 4096; at 1024, with one round instead of two, 6 %.
//
//      three parts of a tile of four slabs          each writes its part,              and adds up a share of the tile
//
//      slabs    |   0   |   1   |   2   |   3   |        +------------------+              +------------------+
//      blocks   |    a    |    b    |     c     |        |   a, b, c: all   |              | a: a + b + c     |
//                                                        |   of it          |     then     | b: a + b + c     |
//      If the tile goes to two blocks, and the second    |                  |              | c: a + b + c     |
//      has more to do, only that one writes its part.    +------------------+              +------------------+
//
// A block waits for parts only when it has written all of its own, so those that it waits for come, if all who share fit the GPU at once. They do, unless a
// second launch of this kernel runs beside it, which would use the same memory too. Traffic: at most two parts for each block, written once and read once.
#include <utility>

#include "harness.cuh"
#include "ordered.cuh"
#include "sharing.cuh"
#include "transposed.cuh"

template <class Do, int... I>
__device__ __forceinline__ void each_of(Do what, std::integer_sequence<int, I...>) { (what(std::integral_constant<int, I>{}), ...); }
template <int N, class Do>
__device__ __forceinline__ void each_of(Do what) { each_of(what, std::make_integer_sequence<int, N>{}); }

using Flat = TransposedTile<16, 256, 16, 4, 8, 2, 4>;
using Small = TransposedTile<64, 128, 16, 8, 8, 3, 4>;
using Large = TransposedTile<128, 128, 8, 8, 16, 3, 2>;

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
constexpr int FEWER_BLOCKS = 1;  // with three stages and the registers of all blocks, sm_80 would spill
#else
constexpr int FEWER_BLOCKS = 0;
#endif

// Bytes of shared memory: for the slabs, and where these are multiplied, for the sums.
template <class T>
constexpr int shared_bytes = T::SHARED_BYTES > T::BM * T::BN * 4 ? T::SHARED_BYTES : T::BM * T::BN * 4;

template <class T, Fit FIT>
__device__ __forceinline__ uint32_t* leave(int m, int n, float* c, const Shares& shares, int slab, float4* laid_down) {
    const int tile = slab / shares.slabs_of_tile, row0 = tile / shares.tiles_across * T::BM, col0 = tile % shares.tiles_across * T::BN;
    return let_tile_leave<T::THREADS, T::TM * T::TN / 4>(shares, tile, laid_down, [&](int thread, int i, float4 four) {
        const int c_row = row0 + T::row_of(thread) + i / (T::TN / 4) / 4 * T::ROW_BAND + i / (T::TN / 4) % 4;
        const int c_col = col0 + T::col_of(thread) + i % (T::TN / 4) * T::COL_BAND;
        store_c<FIT>(c + size_t(c_row) * n + c_col, c_row < m ? n - c_col : 0, four);
    });
}

template <class T, Fit FIT>
__global__ void __launch_bounds__(T::THREADS, least_blocks<T> > FEWER_BLOCKS ? least_blocks<T> - FEWER_BLOCKS : 1)
gemm_20_by_shape(int m, int n, int k, const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, Shares shares) {
    constexpr int BM = T::BM, BN = T::BN, BK = T::BK, TM = T::TM, TN = T::TN, THREADS = T::THREADS;
    constexpr int STAGES = T::STAGES, STAGE_BYTES = T::STAGE_BYTES, A_STRIDE = T::A_STRIDE, B_LANES = T::B_LANES;
    constexpr int ROW_BAND = T::ROW_BAND, COL_BAND = T::COL_BAND;
    extern __shared__ float4 shared[];
    const int a_row = threadIdx.x / A_LANES, a_col = threadIdx.x % A_LANES;
    const int b_row = threadIdx.x / B_LANES, b_col = threadIdx.x % B_LANES * 4;
    const int row = T::row_of(threadIdx.x), col = T::col_of(threadIdx.x);
    // Offsets in bytes, which a stage's own is added to: its number times its size would be multiplied where it is used.
    const uint32_t a_to = shared_address(shared) + 4 * (a_col * A_STRIDE + a_row);
    const uint32_t b_to = shared_address(shared) + 4 * (T::A_FLOATS + b_row * BN + b_col);
    const uint32_t a_part_at = 4 * row, b_part_at = 4 * (T::A_FLOATS + col);

    int slab = shares.begin();
    const int end = shares.end();

    while (slab < end) {  // a tile, or this block's part of one
        const int tile = slab / shares.slabs_of_tile, tile_end = (tile + 1) * shares.slabs_of_tile;
        const int row0 = tile / shares.tiles_across * BM, col0 = tile % shares.tiles_across * BN;
        const int k_begin = (slab - tile * shares.slabs_of_tile) * BK;
        const int k_end = min(k, (min(end, tile_end) - tile * shares.slabs_of_tile) * BK);
        Copies<T, FIT> copies{a_to, b_to, n, k, k_end,
                              a + size_t(row0 + a_row) * k + k_begin + a_col, b + size_t(k_begin + b_row) * n + col0 + b_col,
                              m - row0 - a_row, k - a_col, k - b_row, n - col0 - b_col};

        float sum[TM][TN] = {};
        float4 a_part[2][TM / 4], b_part[2][TN / 4];
        const auto read_fragments = [&](int into, uint32_t stage, int kk) {
            const uint32_t as = shared_address(shared) + a_part_at + stage, bs = shared_address(shared) + b_part_at + stage;
#pragma unroll
            for (int i = 0; i < TM; i += 4) a_part[into][i / 4] = read_shared(as + 4 * (kk * A_STRIDE + i / 4 * ROW_BAND));
#pragma unroll
            for (int j = 0; j < TN; j += 4) b_part[into][j / 4] = read_shared(bs + 4 * (kk * BN + j / 4 * COL_BAND));
        };

#pragma unroll
        for (int s = 0; s < STAGES - 1; ++s) copies.queue(s * STAGE_BYTES, k_begin + s * BK);
        copy_async_wait<STAGES - 2>();
        __syncthreads();
        read_fragments(0, 0, 0);

        uint32_t reading = 0, writing = (STAGES - 1) * STAGE_BYTES;
        for (int k0 = k_begin; k0 < k_end; k0 += BK) {
            each_of<BK>([&](auto kk_) {
                constexpr int kk = kk_.value;
                if (kk == BK - 1) {
                    copy_async_wait<STAGES - 2>();
                    __syncthreads();
                    writing = reading;
                    reading = reading == (STAGES - 1) * STAGE_BYTES ? 0 : reading + STAGE_BYTES;
                }
                read_fragments((kk + 1) % 2, reading, (kk + 1) % BK);
                if (kk == 0) copies.queue(writing, k0 + (STAGES - 1) * BK);
                walk_in_rows<TM, TN>([&](int i, int j) { sum[i][j] += part_of(a_part[kk % 2][i / 4], i % 4) * part_of(b_part[kk % 2][j / 4], j % 4); });
            });
        }

        lay_down<THREADS>(sum, shared);
        uint32_t* const count = leave<T, FIT>(m, n, c, shares, slab, shared);
        slab = tile_end;
        __syncthreads();  // the next tile's slabs overwrite what the last fragments are read from
        if (count != nullptr && threadIdx.x == THREADS - 1) announce(count);
    }
}

constexpr int LEAST_K = 128;  // of a share: from 32 to 256 it made no difference in rung 14

template <class T>
int tiles_of(const harness::Gemm<float>& g) {
    return harness::tiles(g.m, T::BM) * harness::tiles(g.n, T::BN);
}
template <class T>
Fit fit_of(const harness::Gemm<float>& g) {
    return g.m % T::BM == 0 && g.n % T::BN == 0 && g.k % T::BK == 0 ? WHOLE : g.n % 4 == 0 ? WIDE : ANY;
}

template <class T, Fit FIT>
void launch_as(const harness::Gemm<float>& g, bool is_shared) {
    const auto kernel = gemm_20_by_shape<T, FIT>;
    constexpr int BYTES = shared_bytes<T>;
    static const Sharing sharing(kernel, T::THREADS, BYTES, T::BM * T::BN);
    const int tiles = tiles_of<T>(g);
    const Shares shares = sharing.shares(tiles, harness::tiles(g.n, T::BN), harness::tiles(g.k, T::BK), LEAST_K / T::BK, is_shared);
    kernel<<<shares.sharers + tiles - shares.shared_tiles, T::THREADS, BYTES>>>(g.m, g.n, g.k, g.a, g.b, g.c, shares);
}

template <class T>
void launch_with(const harness::Gemm<float>& g, bool is_shared) {
    switch (fit_of<T>(g)) {
        case WHOLE: return launch_as<T, WHOLE>(g, is_shared);
        case WIDE: return launch_as<T, WIDE>(g, is_shared);
        case ANY: return launch_as<T, ANY>(g, is_shared);
    }
}

// How long a multiplication takes in tiles of this kind, in cycles of an SM, as measured on an H200: the slabs of a tile, in percent of the cycles in which
// all lanes do FMAs; and what is no slab, with and without sharing. With fewer blocks on an SM than it has room for, slabs take up to a fifth longer.
struct Measured {
    int whole, wide, any;  // percent
    int sharing;           // cycles: the ends of two parts, and adding them up
};
struct Estimate {
    int64_t cycles;
    bool is_shared;
};

template <class T>
Estimate estimate(const harness::Gemm<float>& g, Measured measured) {
    constexpr int LANES = 128, ENDS = 8000;
    static const int sms = processors();
    const Fit fit = fit_of<T>(g);
    const int64_t tiles = tiles_of<T>(g), slabs = harness::tiles(g.k, T::BK), most = (tiles + sms - 1) / sms;
    const int64_t slab = int64_t(T::BK) * T::BM * T::BN / LANES * (fit == WHOLE ? measured.whole : fit == WIDE ? measured.wide : measured.any) / 100;
    const int64_t unfilled = std::max<int64_t>(0, T::BLOCKS - most);
    const int64_t alone = most * slabs * slab * (5 * T::BLOCKS + unfilled) / (5 * T::BLOCKS) + ENDS;
    const int64_t shared = std::max(tiles * slabs * slab / sms, std::min<int64_t>(slabs, LEAST_K / T::BK) * slab) + measured.sharing;
    return {std::min(alone, shared), shared < alone};
}

void launch(const harness::Gemm<float>& g) {
    const Estimate flat = estimate<Flat>(g, {164, 168, 172, 18000});
    const Estimate small = estimate<Small>(g, {125, 129, 137, 18000});
    const Estimate large = estimate<Large>(g, {128, 127, 132, 22000});
    if (flat.cycles < std::min(small.cycles, large.cycles)) launch_with<Flat>(g, flat.is_shared);
    else if (small.cycles <= large.cycles) launch_with<Small>(g, small.is_shared);
    else launch_with<Large>(g, large.is_shared);
}

int main(int argc, char** argv) { return harness::run<harness::Multiplication<float>>(argc, argv, {"20_by_shape", launch}); }
