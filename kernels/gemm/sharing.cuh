// Rung 20: which tiles are shared and by whom, how a tile leaves, and how those who share one add up. Rung 20 draws it.
#pragma once

#include <algorithm>

#include "../harness/device.cuh"
#include "ordered.cuh"
#include "rung.cuh"

// Slabs are counted through all tiles, which are counted through the rows of C. The first `sharers` blocks cut the first `shared_tiles` into
// shares of `share` slabs, or one more for the first `longer` of them; each block after them has a tile of its own.
struct Shares {
    int tiles_across, slabs_of_tile;
    int shared_tiles, sharers, share, longer;
    float4* partial_sums;  // a tile for each part of a shared tile
    uint32_t* arrived;     // the parts of each shared tile that are there

    __device__ __forceinline__ bool shares() const { return blockIdx.x < sharers; }
    // Parts come from blocks that were launched earlier, but for those of a tile that several add up.
    __device__ __forceinline__ int sharer() const { return sharers - 1 - int(blockIdx.x); }
    __device__ __forceinline__ int begin_of(int sharer) const { return sharer * share + min(sharer, longer); }
    __device__ __forceinline__ int sharer_of(int slab) const {
        const int by_longer = longer * (share + 1);
        return slab < by_longer ? slab / (share + 1) : longer + (slab - by_longer) / share;
    }
    // The slabs of this block.
    __device__ __forceinline__ int begin() const { return shares() ? begin_of(sharer()) : (shared_tiles - 1 - sharer()) * slabs_of_tile; }
    __device__ __forceinline__ int end() const { return shares() ? begin_of(sharer() + 1) : begin() + slabs_of_tile; }
};

// The parts of a tile, which are counted through all tiles. Each block that ends within the tile is one of the adders. The last part
// may be the first of two that its block works at: such a block hands it over and goes on.
struct Parts {
    int first, count, adders, own;
    __device__ __forceinline__ Parts(const Shares& shares, int tile) {
        const int begin = tile * shares.slabs_of_tile, end = begin + shares.slabs_of_tile;
        const int first_sharer = shares.sharer_of(begin), last_sharer = shares.sharer_of(end - 1);
        first = first_sharer + tile;
        count = last_sharer - first_sharer + 1;
        adders = count - (shares.begin_of(last_sharer + 1) > end);
        own = shares.sharer() - first_sharer;
    }
};

// By one thread, after all threads of its block met: a part is where its readers find it.
__device__ __forceinline__ void announce(uint32_t* arrived) {
    asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(arrived) : "memory");
}
__device__ __forceinline__ void wait_for_parts(uint32_t* arrived, uint32_t count) {
    if (threadIdx.x == 0) {
        uint32_t seen;
        do asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(arrived) : "memory");
        while (seen < count);
    }
    __syncthreads();
}
// When all adders have read, the last of them sets the count back for the next launch.
__device__ __forceinline__ void release_parts(uint32_t* arrived, uint32_t count, uint32_t adders) {
    __syncthreads();
    if (threadIdx.x == 0) {
        uint32_t before;
        asm volatile("atom.acq_rel.gpu.global.add.u32 %0, [%1], 1;" : "=r"(before) : "l"(arrived) : "memory");
        if (before == count + adders - 1) *arrived = 0;
    }
}

__device__ __forceinline__ float4 read_partial_sum(const float4* from) {
    float4 four;
    asm volatile("ld.global.cg.v4.f32 {%0, %1, %2, %3}, [%4];" : "=f"(four.x), "=f"(four.y), "=f"(four.z), "=f"(four.w) : "l"(from) : "memory");
    return four;
}
__device__ __forceinline__ void add_to(float4& sum, const float4& more) { sum.x += more.x, sum.y += more.y, sum.z += more.z, sum.w += more.w; }

// An adder's share of a tile, the fours from `begin` to `end`, summed over all parts in their order and stored. Where the share is narrower than
// the block, groups of threads take parts in turn, and add up through `spare`, which has room for a four of each thread.
template <int THREADS, int WIDE, class Store>
__device__ __forceinline__ void add_share(const float4* parts, int count, int fours, int begin, int end, float4* spare, Store store) {
    constexpr int DEEP = 4;  // with WIDE, the reads that a thread has under way
    const int thread = thread_anew(), share = end - begin, groups = max(1, min(THREADS / share, count)), width = groups > 1 ? share : THREADS;
    const int group = thread / width, first = begin + thread % width;
    const auto sum_parts = [&](float4 (&total)[WIDE], int from) {
#pragma unroll
        for (int x = 0; x < WIDE; ++x) total[x] = make_float4(0, 0, 0, 0);
#pragma unroll 1
        for (int part = group; part < count; part += DEEP * groups) {
            float4 more[DEEP][WIDE];
#pragma unroll
            for (int y = 0; y < DEEP; ++y)
#pragma unroll
                for (int x = 0; x < WIDE; ++x) {
                    more[y][x] = make_float4(0, 0, 0, 0);
                    if (part + y * groups < count && from + x * width < end) more[y][x] = read_partial_sum(parts + size_t(part + y * groups) * fours + from + x * width);
                }
#pragma unroll
            for (int y = 0; y < DEEP; ++y)
#pragma unroll
                for (int x = 0; x < WIDE; ++x) add_to(total[x], more[y][x]);
        }
    };
    float4 total[WIDE];
    if (groups > 1) {
        if (group < groups) sum_parts(total, first), spare[thread] = total[0];
        __syncthreads();
        if (group == 0) {
            for (int other = 1; other < groups; ++other) add_to(total[0], spare[other * width + thread]);
            store(first % THREADS, first / THREADS, total[0]);
        }
        return;
    }
#pragma unroll 1
    for (int from = first; from < end; from += WIDE * THREADS) {
        sum_parts(total, from);
#pragma unroll
        for (int x = 0; x < WIDE; ++x)
            if (from + x * THREADS < end) store((from + x * THREADS) % THREADS, (from + x * THREADS) / THREADS, total[x]);
    }
}

// The sums of a tile, or of a part of one, into shared memory, where let_tile_leave finds them. Instructions want four neighbours in adjacent registers, as four
// numbers of B are; written with neighbours exchanged, each sum lies in another bank of registers than its factor of B.
template <int THREADS, int TM, int TN>
__device__ __forceinline__ void lay_down(const float (&sum)[TM][TN], float4* room) {
    const uint32_t at = shared_address(room) + thread_anew() * 16;
    __syncthreads();  // nobody reads the slabs any more
#pragma unroll
    for (int i = 0; i < TM * TN; i += 4) {
        const float* s = &sum[i / TN][i % TN];
        write_shared(at + i / 4 * THREADS * 16, make_float4(s[1], s[0], s[3], s[2]));
    }
}

// A tile that was laid down leaves, or this block's part of one: `store(thread, i, four)` stores the i-th four sums of a thread.
//   - A tile of which nobody else has a part is stored.
//   - Of two parts, the one whose block goes on is handed over; the other block adds it to its own and stores the tile.
//   - Otherwise all parts are handed over, and each adder reads a share of the tile from all of them and stores that.
// Returns the count that a thread must announce this block's part to, once all threads of the block have met.
template <int THREADS, int FOURS, class Store>
__device__ __forceinline__ uint32_t* let_tile_leave(const Shares& shares, int tile, float4* room, Store store) {
    constexpr int ALL = FOURS * THREADS, BATCH = FOURS > 16 ? 8 : 4;
    const int thread = thread_anew();
    Parts parts{shares, tile};
    if (!shares.shares()) parts.count = 1;
    const bool keeps = parts.count == 2 && parts.adders == 1 && parts.own == 0, hands_over = parts.count > 1 && !keeps;
    float4* const first_part = shares.partial_sums + size_t(parts.first) * ALL;
    uint32_t* const arrived = shares.arrived + tile;
    if (keeps) wait_for_parts(arrived, 1);
    const uint32_t at = shared_address(room) + thread * 16;
    const auto laid_down = [&](int i) {
        const float4 swapped = read_shared(at + i * THREADS * 16);
        return make_float4(swapped.y, swapped.x, swapped.w, swapped.z);
    };
    if (hands_over) {
        float4* const own_part = first_part + size_t(parts.own) * ALL + thread;
#pragma unroll 1
        for (int i = 0; i < FOURS; i += BATCH)
#pragma unroll
            for (int x = 0; x < BATCH; ++x) __stcg(own_part + (i + x) * THREADS, laid_down(i + x));
    } else if (keeps) {
#pragma unroll 1
        for (int i = 0; i < FOURS; i += BATCH) {
            float4 four[BATCH];
#pragma unroll
            for (int x = 0; x < BATCH; ++x) four[x] = read_partial_sum(first_part + ALL + (i + x) * THREADS + thread);
#pragma unroll
            for (int x = 0; x < BATCH; ++x) {
                add_to(four[x], laid_down(i + x));
                store(thread, i + x, four[x]);
            }
        }
        release_parts(arrived, 1, 1);
    } else {
#pragma unroll 1
        for (int i = 0; i < FOURS; i += BATCH)
#pragma unroll
            for (int x = 0; x < BATCH; ++x) store(thread, i + x, laid_down(i + x));
    }
    if (!hands_over) return nullptr;
    if (parts.own >= parts.adders) return arrived;
    __syncthreads();
    if (threadIdx.x == 0) announce(arrived);
    wait_for_parts(arrived, parts.count);
    const int begin = int(int64_t(ALL) * parts.own / parts.adders), end = int(int64_t(ALL) * (parts.own + 1) / parts.adders);
    add_share<THREADS, BATCH / 2>(first_part, parts.count, ALL, begin, end, room, store);
    release_parts(arrived, parts.count, parts.adders);
    return nullptr;
}

inline int processors() {
    int device, count;
    CUDA_CHECK(cudaGetDevice(&device));
    CUDA_CHECK(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device));
    return count;
}

// The blocks of a kernel that the GPU holds at once, and what they share.
class Sharing {
  public:
    template <class... Parameters>
    Sharing(void (*kernel)(Parameters...), int threads, int shared_bytes, int tile_elements)
        : places_(places(kernel, threads, shared_bytes)), partial_sums_(size_t(places_) * 2 * (tile_elements / 4)), arrived_(places_) {
        arrived_.fill_bytes(0);
    }
    // Of so many tiles, those that do not fill all places are shared, if any is.
    Shares shares(int tiles, int tiles_across, int slabs, int least, bool is_shared) const {
        const int shared_tiles = is_shared ? tiles % places_ : 0, all = shared_tiles * slabs;
        const int sharers = std::min(places_, all / std::min(least, slabs)), share = sharers ? all / sharers : 1;
        return {tiles_across, slabs, shared_tiles, sharers, share, sharers ? all % sharers : 0, partial_sums_.data(), arrived_.data()};
    }

  private:
    template <class... Parameters>
    static int places(void (*kernel)(Parameters...), int threads, int shared_bytes) {
        int blocks;
        CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes));
        CUDA_CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, threads, shared_bytes));
        return processors() * blocks;
    }

    int places_;
    harness::DeviceBuffer<float4> partial_sums_;
    harness::DeviceBuffer<uint32_t> arrived_;
};
