// What the memory-bound ladders share: arrays that may start anywhere, between guards; the device's own copy as
// reference; and the sizes and alignments that every kernel is tried on.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "device.cuh"

namespace harness {

// Threads of a launch as the streaming kernels use them.
inline unsigned blocks_for(size_t items, unsigned threads) {
    const size_t blocks = (items + threads - 1) / threads;
    if (blocks > 2147483647u) fail(UNSUPPORTED, "%zu items need more blocks than a grid has", items);
    return unsigned(std::max<size_t>(blocks, 1));
}

// The blocks that the device holds at once: the grid of a kernel whose threads walk their array.
template <class... Arguments>
unsigned resident_blocks(void (*kernel)(Arguments...), int threads, size_t shared_bytes = 0) {
    int device = 0, multiprocessors = 0, blocks = 0;
    CUDA_CHECK(cudaGetDevice(&device));
    CUDA_CHECK(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device));
    CUDA_CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, threads, shared_bytes));
    return unsigned(multiprocessors * blocks);
}

inline bool is_aligned(const void* pointer, size_t bytes) { return reinterpret_cast<uintptr_t>(pointer) % bytes == 0; }

template <class Word>
__global__ void count_changed(const Word* words, size_t count, Word poison, unsigned long long* changed) {
    for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < count; i += size_t(gridDim.x) * blockDim.x)
        if (words[i] != poison) atomicAdd(changed, 1ull);
}

// An array that starts `offset` elements past an address aligned to 256 bytes, with room before and behind it that
// nobody may write to.
template <class T>
class GuardedBuffer {
  public:
    static constexpr size_t GUARD = 256;      // elements, on both sides
    static constexpr size_t LARGEST_OFFSET = 16;
    explicit GuardedBuffer(size_t largest) : memory_(largest + 2 * GUARD + LARGEST_OFFSET) {}

    T* at(size_t offset) const { return memory_.data() + GUARD + offset; }
    size_t capacity() const { return memory_.count() - 2 * GUARD - LARGEST_OFFSET; }
    const T* data() const { return memory_.data(); }
    size_t bytes() const { return memory_.bytes(); }
    void fill(uint64_t seed, float largest = 1) { fill_uniform(memory_.data(), memory_.count(), seed, largest); }

    // Every byte 0xFF: NaN in every floating-point type.
    void poison() { memory_.fill_bytes(0xFF); }

    // How many bytes outside of the `count` elements from `offset` are no longer poisoned; of all, when count is 0.
    unsigned long long changed_outside(size_t offset, size_t count) const {
        Tally<unsigned long long> changed;
        const auto* bytes = reinterpret_cast<const unsigned char*>(memory_.data());
        const size_t before = (GUARD + offset) * sizeof(T), behind = before + count * sizeof(T);
        count_changed<unsigned char><<<64, 256>>>(bytes, before, 0xFF, changed.data());
        count_changed<unsigned char><<<1024, 256>>>(bytes + behind, memory_.bytes() - behind, 0xFF, changed.data());
        return changed.read();
    }

  private:
    DeviceBuffer<T> memory_;
};

// An exact element of the result. Rounding errors are proportional to `magnitude`, the sum of the absolute values of
// what is added and subtracted on the way to it: where terms cancel, `value` may be as small as it likes.
struct Term {
    double value, magnitude;
};

// How far an element is off, in parts of what it may be. `threshold` bounds the norm of all, by which errors are averaged. In one
// element a dozen roundings may each be at its worst and go the same way: six times their root mean square, which a threshold is
// at least 1.5 times of. Below 2^-126, FP32 may be taken for 0.
__device__ inline double parts_of_allowed(double difference, double threshold, double magnitude) {
    const double off = fabs(difference);
    return off == 0 ? 0 : off / (threshold > 0 ? 4 * threshold * magnitude + 0x1p-126 : 0);
}

// Those of positive doubles compare as the doubles do.
__device__ inline unsigned long long bits_of(double value) { return (unsigned long long)__double_as_longlong(value); }
inline double from_bits(unsigned long long bits) {
    double value;
    static_assert(sizeof value == sizeof bits, "a double has 64 bits");
    std::memcpy(&value, &bits, sizeof value);
    return value;
}

// The device's own copy, of so many bytes that reading and writing them adds up to `bytes`.
class CopyReference {
  public:
    explicit CopyReference(double bytes) : from_(std::max<size_t>(size_t(bytes / 2), 1)), to_(from_.count()) {
        from_.fill_bytes(1);
    }
    static const char* name() { return "cudaMemcpy of as many bytes"; }
    void launch() {
        CUDA_CHECK(cudaMemcpyAsync(to_.data(), from_.data(), from_.bytes(), cudaMemcpyDeviceToDevice));
    }

  private:
    DeviceBuffer<char> from_, to_;
};

// One shape and alignment that a kernel is tried on.
struct Case {
    size_t n;
    size_t in_offset, out_offset;  // in elements
    std::string text() const {
        return "n = " + std::to_string(n) + ", input off by " + std::to_string(in_offset) + " and output by " +
               std::to_string(out_offset) + " elements";
    }
};

// The asked size, aligned and at the asked offset, then everything that vector accesses are known to get wrong: sizes that
// no width divides, and first elements that no width is aligned to.
inline std::vector<Case> cases_of(size_t n, size_t offset = 0) {
    std::vector<Case> cases = {{n, 0, 0}};
    if (offset) cases.push_back({n, offset, offset});
    for (const size_t small : {size_t(1), size_t(2), size_t(3), size_t(5), size_t(7), size_t(31), size_t(33), size_t(1021),
                               size_t(4096), size_t(4097), size_t(65539), size_t(1048575)}) {
        if (small > n) continue;
        for (const Case offsets : {Case{0, 0, 0}, Case{0, 1, 0}, Case{0, 0, 1}, Case{0, 1, 1}, Case{0, 2, 2}, Case{0, 3, 3},
                                   Case{0, 4, 4}, Case{0, 5, 7}, Case{0, 8, 8}})
            cases.push_back({small, offsets.in_offset, offsets.out_offset});
    }
    return cases;
}

}  // namespace harness
