// Rung 3: the block stages a slab of A and of B in shared memory and multiplies from there.
//
// Change from rung 2: K is walked in slabs of 32; each thread copies one element of either slab, then reads 2 x 32.
// Expect: global loads per FMA fall 32-fold (L2 traffic with them), shared loads take their place one for one, so the
// time moves from long scoreboard to MIO throttle and short scoreboard: the LSU pipe is the new wall.
//
//                 +--32--+
//                 |  Bs  | 32           block: 32 x 32 elements of C, 1024 threads
//                 +------+              thread t: row t / 32, column t % 32 of As, Bs and C
//        +--32--+ +------+
//        |  As  | | C    | 32           per slab and thread: 2 global loads, 2 shared stores,
//        +------+ +------+              64 shared loads, 32 FMAs, 2 barriers
//
// Traffic per element: 2K/32 global loads, 2K shared elements for K FMAs. The k loop is unrolled, so the compiler fetches
// four k of a row of As by one LDS.128: 5 shared loads for 4 FMAs, not 8.
#include "device.cuh"
#include "harness.cuh"

constexpr int TILE = 32;

template <bool FULL>
__global__ void __launch_bounds__(TILE* TILE)
gemm_03_shared(int m, int n, int k, const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c) {
    __shared__ float as[TILE][TILE];
    __shared__ float bs[TILE][TILE];
    const int y = threadIdx.x / TILE;
    const int x = threadIdx.x % TILE;
    const int row = blockIdx.y * TILE + y;
    const int col = blockIdx.x * TILE + x;
    float sum = 0.0f;
    for (int k0 = 0; k0 < k; k0 += TILE) {
        as[y][x] = load_1<FULL>(a + size_t(row) * k + k0 + x, row < m ? k - k0 - x : 0);
        bs[y][x] = load_1<FULL>(b + size_t(k0 + y) * n + col, k0 + y < k ? n - col : 0);
        __syncthreads();
#pragma unroll
        for (int i = 0; i < TILE; ++i) sum += as[y][i] * bs[i][x];
        __syncthreads();
    }
    store_1<FULL>(c + size_t(row) * n + col, row < m ? n - col : 0, sum);
}

void launch(const harness::Gemm<float>& g) {
    static_assert(TILE * TILE <= 1024, "a block has at most 1024 threads, and each owns one element of the tile");
    const dim3 grid = harness::grid_of_tiles(g.m, g.n, TILE, TILE);
    const bool full = g.m % TILE == 0 && g.n % TILE == 0 && g.k % TILE == 0;
    const auto kernel = full ? gemm_03_shared<true> : gemm_03_shared<false>;
    kernel<<<grid, TILE * TILE>>>(g.m, g.n, g.k, g.a, g.b, g.c);
}

int main(int argc, char** argv) { return harness::run<harness::Multiplication<float>>(argc, argv, {"03_shared", launch}); }
