// Rung 10: a cluster of up to 16 blocks takes a row, for rows too wide for the registers of one block.
//
// Change from rung 8: each block of a cluster holds its share of the row in registers, finds the mean of the share and the
// squares around that mean, and hands both to the other blocks through their shared memory. All add up the same numbers in
// the same order. Numbers are sent without a fence of memory.
// Expect: nothing at 4096, where a cluster is one block. For wider rows the speed of rung 8 at 4096, less what waiting for each other
// takes; a row takes as few blocks as can hold it.
//
//      row r, 65,536 floats:          | block 0: 16,384 | block 1: 16,384 | ... | block 3: 16,384 |    a cluster
//      shared memory of each block:   | mean and squares of block 0 | of block 1 | ... | of block 3 |
//
// Traffic: 4 bytes read and 4 written an element, once; gamma and beta come from the caches. Clusters from sm_90 on.
// Any alignment: elements instead of vectors where those do not suit. Refuses rows of more than 262,144 floats.
#include <cooperative_groups.h>

#include "../harness/policy.cuh"
#include "layernorm.cuh"

constexpr int MOST_BLOCKS = 16;

struct Share {
    float mean, squares;  // squares of the distances from this mean
};

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
__device__ inline uint32_t shared_address(const void* at) { return uint32_t(__cvta_generic_to_shared(at)); }

// What the blocks of a cluster say to each other about their row. A number that is sent brings its bytes to the account of a barrier in
// the shared memory where it arrives, so that who waits there needs no fence, and no block waits for those that only listen.
struct Exchange {
    Share shares[MOST_BLOCKS];
    uint64_t arrived;

    // Before anything else: the other blocks may send from when all of them have called this.
    __device__ void open() {
        const unsigned blocks = cooperative_groups::this_cluster().num_blocks();
        if (blocks == 1) return;
        if (threadIdx.x == 0) {
            asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(shared_address(&arrived)) : "memory");
            asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
            asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;"
                         ::"r"(shared_address(&arrived)), "r"(unsigned(blocks * sizeof(Share))) : "memory");
        }
        __syncwarp();
        asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
    }

    // This block's share, to all of them and itself; and theirs.
    __device__ void send(const Share& mine, unsigned rank, unsigned blocks) {
        asm volatile("barrier.cluster.wait.aligned;" ::: "memory");
        if (threadIdx.x < blocks)
            asm volatile("{\n.reg .b32 to, barrier;\nmapa.shared::cluster.u32 to, %0, %4;\nmapa.shared::cluster.u32 barrier, %1, %4;\n"
                         "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2.f32 [to], {%2, %3}, [barrier];\n}"
                         ::"r"(shared_address(&shares[rank])), "r"(shared_address(&arrived)), "f"(mine.mean), "f"(mine.squares), "r"(threadIdx.x)
                         : "memory");
        asm volatile("{\n.reg .pred done;\nagain:\nmbarrier.try_wait.parity.shared::cta.b64 done, [%0], 0;\n@!done bra again;\n}"
                     ::"r"(shared_address(&arrived)) : "memory");
    }
};
#else
struct Exchange {
    __device__ void open() {}
};
#endif

// Of the whole row, from the shares of the cluster's blocks, each of which holds `width` floats, and the last what is left.
__device__ inline Share share_with_cluster(Exchange& exchange, Share mine, uint32_t hidden, uint32_t width) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    const auto cluster = cooperative_groups::this_cluster();
    const uint32_t blocks = cluster.num_blocks();
    if (blocks == 1) return mine;
    exchange.send(mine, cluster.block_rank(), blocks);
    float sum = 0, squares = 0;
    for (uint32_t b = 0; b < blocks; ++b) sum += exchange.shares[b].mean * float(min(width, hidden - b * width));
    const float mean = sum / float(hidden);
    for (uint32_t b = 0; b < blocks; ++b) {
        const float distance = exchange.shares[b].mean - mean;
        squares += exchange.shares[b].squares + distance * distance * float(min(width, hidden - b * width));
    }
    return {mean, squares};
#else
    return mine;
#endif
}

// What shares an SM: four blocks of 4096 floats, two wider ones, or one whose threads hold 32 single floats each.
constexpr int blocks_an_sm(int threads, int count, size_t bytes) {
    return bytes <= 32 ? 2048 / threads : count > 8 ? 1 : 1024 / threads;
}

// Grid: x is the block's place in the row's cluster, y the row.
template <class Vector, int THREADS, int COUNT>
__global__ void __launch_bounds__(THREADS, blocks_an_sm(THREADS, COUNT, sizeof(Vector) * COUNT))
layernorm_10_clusters(Rows rows, uint32_t width) {
    constexpr uint32_t PER_VECTOR = sizeof(Vector) / sizeof(float);
    __shared__ float of_warps[2][THREADS / 32];
    __shared__ Exchange exchange;
    exchange.open();
    const uint32_t first = blockIdx.x * width, mine = min(width, rows.hidden - first), vectors = mine / PER_VECTOR;
    const size_t start = blockIdx.y * size_t(rows.hidden) + first;
    const Vector* in = reinterpret_cast<const Vector*>(rows.in + start);
    Vector v[COUNT];
    float sum = 0, squares = 0;
#pragma unroll
    for (int k = 0; k < COUNT; ++k)
        if (threadIdx.x + k * THREADS < vectors) v[k] = harness::load_to_keep(in + threadIdx.x + k * THREADS);
#pragma unroll
    for (int k = 0; k < COUNT; ++k)
        if (threadIdx.x + k * THREADS < vectors) sum += sum_of(v[k]);
    const float local = harness::block_sum<THREADS>(sum, of_warps[0]) / float(mine);
#pragma unroll
    for (int k = 0; k < COUNT; ++k)
        if (threadIdx.x + k * THREADS < vectors) squares += squares_of(v[k], local);
    const Share row = share_with_cluster(exchange, {local, harness::block_sum<THREADS>(squares, of_warps[1])}, rows.hidden, width);
    const Vector* gamma = reinterpret_cast<const Vector*>(rows.gamma + first);
    const Vector* beta = reinterpret_cast<const Vector*>(rows.beta + first);
    Vector* out = reinterpret_cast<Vector*>(rows.out + start);
    const float scale = rsqrtf(row.squares / float(rows.hidden) + EPSILON);
#pragma unroll
    for (int k = 0; k < COUNT; ++k) {
        const uint32_t i = threadIdx.x + k * THREADS;
        if (i < vectors) out[i] = normalized(v[k], row.mean, scale, __ldg(gamma + i), __ldg(beta + i));
    }
}

template <class Vector, int THREADS, int COUNT>
bool launch_at_most(const Rows& rows, unsigned most_blocks) {
    constexpr uint32_t PER_VECTOR = sizeof(Vector) / sizeof(float), MOST = THREADS * COUNT * PER_VECTOR;
    const unsigned needed = (rows.hidden + MOST - 1) / MOST;
    unsigned blocks = 1;  // a power of two, so that clusters pack into groups of SMs
    while (blocks < needed) blocks *= 2;
    if (blocks > most_blocks) return false;
    const uint32_t width = ((rows.hidden + blocks - 1) / blocks + PER_VECTOR - 1) / PER_VECTOR * PER_VECTOR;
    const auto kernel = layernorm_10_clusters<Vector, THREADS, COUNT>;
    if (blocks > 8) CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
    for (size_t row = 0; row < rows.rows; row += 65535) {  // the most that a grid has along y
        const unsigned count = unsigned(std::min<size_t>(65535, rows.rows - row));
        Rows part = rows;
        part.in += row * rows.hidden;
        part.out += row * rows.hidden;
        cudaLaunchAttribute cluster{};
        cluster.id = cudaLaunchAttributeClusterDimension;
        cluster.val.clusterDim = {blocks, 1, 1};
        cudaLaunchConfig_t config{};
        config.gridDim = {blocks, count, 1};
        config.blockDim = {THREADS, 1, 1};
        config.attrs = &cluster;
        config.numAttrs = blocks > 1;
        CUDA_CHECK(cudaLaunchKernelEx(&config, kernel, part, width));
    }
    return true;
}

template <class Vector>
bool launch_by(const Rows& rows) {
    constexpr int BY = sizeof(float4) / sizeof(Vector);  // so that a block's share is as wide without vectors
    int clusters = 0;
    CUDA_CHECK(cudaDeviceGetAttribute(&clusters, cudaDevAttrClusterLaunch, 0));
    const unsigned most = clusters ? MOST_BLOCKS : 1;
    return launch_at_most<Vector, 256, BY>(rows, 1) || launch_at_most<Vector, 256, 2 * BY>(rows, 1) ||
           launch_at_most<Vector, 512, 2 * BY>(rows, 1) || launch_at_most<Vector, 512, 4 * BY>(rows, 1) ||
           launch_at_most<Vector, 512, 8 * BY>(rows, most);
}

bool launch(const Rows& rows) { return suits_float4(rows) ? launch_by<float4>(rows) : launch_by<float>(rows); }

int main(int argc, char** argv) { return harness::run<Task>(argc, argv, {"10_clusters", launch}); }
