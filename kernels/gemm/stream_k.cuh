// Rungs 14 and 18: the last wave of tiles is cut along k into equal shares, one for each block that fits the GPU, and those who share a
// tile add up in pairs, through the L2. Rung 14 draws it.
#pragma once

#include <algorithm>

#include "../harness/device.cuh"
#include "rung.cuh"

// Slabs are counted through all tiles, which are counted through the rows of C. The first `sharers` blocks cut the first
// `shared_tiles` into shares; each block after them has a tile of its own.
struct Plan {
    int tiles_across, slabs_of_tile;
    int shared_tiles, share, sharers;
    float4* partial_sums;  // a tile for each sharer
    uint32_t* ready;       // whether it is there; whoever takes it resets this

    __device__ __forceinline__ bool shares() const { return blockIdx.x < sharers; }
    __device__ __forceinline__ int sharer() const { return sharers - 1 - int(blockIdx.x); }
    // The slabs of this block.
    __device__ __forceinline__ int begin() const {
        return shares() ? sharer() * share : (shared_tiles - 1 - sharer()) * slabs_of_tile;
    }
    __device__ __forceinline__ int end() const {
        return shares() ? min(begin() + share, shared_tiles * slabs_of_tile) : begin() + slabs_of_tile;
    }
};

// By all threads of a block: what they stored before is what the block that takes it will read.
__device__ __forceinline__ void hand_over(uint32_t* ready) {
    __syncthreads();
    if (threadIdx.x == 0) asm volatile("st.release.gpu.global.u32 [%0], 1;" ::"l"(ready) : "memory");
}
__device__ __forceinline__ void take(uint32_t* ready) {
    if (threadIdx.x == 0) {
        uint32_t is_ready;
        do asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(is_ready) : "l"(ready) : "memory");
        while (!is_ready);
        *ready = 0;
    }
    __syncthreads();
}

// Adds up the sums of those who share a tile, if anybody does; `four` gives four of this thread's. Whether this block stores the tile.
// Of those who share it, `first` holds its first slab. In each round every second of those left hands over.
template <int THREADS, int TM, int TN, class Four>
__device__ __forceinline__ bool add_up(const Plan& plan, int tile, float (&sum)[TM][TN], Four four) {
    if (!plan.shares()) return true;
    bool stores = true;
    const int sharer = plan.sharer(), first = tile * plan.slabs_of_tile / plan.share, last = ((tile + 1) * plan.slabs_of_tile - 1) / plan.share;
    for (int step = 1; stores && first + step <= last; step *= 2) {
        stores = !((sharer - first) & step);
        const int from = stores ? sharer + step : sharer;
        if (from > last) continue;
        float4* const partial_sum = plan.partial_sums + size_t(from) * (TM * TN / 4 * THREADS) + threadIdx.x;
        if (stores) take(plan.ready + from);
#pragma unroll
        for (int i = 0; i < TM; ++i)
#pragma unroll
            for (int x = 0; x < TN; x += 4) {
                float4* const at = partial_sum + (i * TN + x) / 4 * THREADS;
                if (stores) {
                    const float4 more = __ldcg(at);
                    sum[i][x] += more.x, sum[i][x + 1] += more.y, sum[i][x + 2] += more.z, sum[i][x + 3] += more.w;
                } else {
                    __stcg(at, four(i, x));
                }
            }
        if (!stores) hand_over(plan.ready + sharer);
    }
    return stores;
}

// The blocks of a kernel that the GPU holds at once, and what they share.
class Sharers {
  public:
    static constexpr int LEAST_K = 128;  // of a share: from 32 to 256 it made no difference at the sizes measured

    template <class... Parameters>
    Sharers(void (*kernel)(Parameters...), int threads, int shared_bytes, int tile_elements)
        : slots_(slots(kernel, threads, shared_bytes)), partial_sums_(size_t(slots_) * (tile_elements / 4)), ready_(slots_) {
        ready_.fill_bytes(0);
    }
    Plan plan(const harness::Gemm<float>& g, int bm, int bn, int bk) const {
        const int slabs = harness::tiles(g.k, bk), shared_tiles = tiles(g, bm, bn) % slots_;
        const int share = std::max(harness::tiles(shared_tiles * slabs, slots_), std::min(slabs, LEAST_K / bk));
        const int sharers = harness::tiles(shared_tiles * slabs, share);
        return {harness::tiles(g.n, bn), slabs, shared_tiles, share, sharers, partial_sums_.data(), ready_.data()};
    }
    // How many blocks follow the plan.
    int blocks(const Plan& plan, const harness::Gemm<float>& g, int bm, int bn) const {
        return plan.sharers + tiles(g, bm, bn) - plan.shared_tiles;
    }

  private:
    static int tiles(const harness::Gemm<float>& g, int bm, int bn) { return harness::tiles(g.m, bm) * harness::tiles(g.n, bn); }

    template <class... Parameters>
    static int slots(void (*kernel)(Parameters...), int threads, int shared_bytes) {
        int device, processors, blocks;
        CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes));
        CUDA_CHECK(cudaGetDevice(&device));
        CUDA_CHECK(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device));
        CUDA_CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, threads, shared_bytes));
        return processors * blocks;
    }

    int slots_;
    harness::DeviceBuffer<float4> partial_sums_;
    harness::DeviceBuffer<uint32_t> ready_;
};
