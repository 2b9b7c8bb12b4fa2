// What a rung's program does on the device besides its kernel: memory, random data, events, a cold L2.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "failure.cuh"

namespace harness {

inline cudaDeviceProp find_device() {
    int count = 0;
    const cudaError_t status = cudaGetDeviceCount(&count);
    if (status != cudaSuccess || count == 0)
        fail(CUDA_FAILED, "no CUDA device: %s", status == cudaSuccess ? "the driver lists none" : cudaGetErrorString(status));
    cudaDeviceProp properties;
    CUDA_CHECK(cudaGetDeviceProperties(&properties, 0));
    CUDA_CHECK(cudaSetDevice(0));
    return properties;
}

template <class T>
class DeviceBuffer {
  public:
    explicit DeviceBuffer(size_t count) : count_(count) {
        if (cudaMalloc(&data_, count * sizeof(T)) == cudaErrorMemoryAllocation)
            fail(OUT_OF_MEMORY, "out of device memory: no room for %.1f MB more", count * sizeof(T) / 1e6);
        CUDA_CHECK(cudaGetLastError());
    }
    ~DeviceBuffer() { cudaFree(data_); }
    DeviceBuffer(const DeviceBuffer&) = delete;
    DeviceBuffer& operator=(const DeviceBuffer&) = delete;
    T* data() const { return data_; }
    size_t count() const { return count_; }
    size_t bytes() const { return count_ * sizeof(T); }
    void fill_bytes(int value) { CUDA_CHECK(cudaMemsetAsync(data_, value, bytes())); }

  private:
    T* data_ = nullptr;
    size_t count_;
};

// A variable of the host that kernels accumulate into.
template <class T>
class Tally {
  public:
    Tally() : device_(1) { device_.fill_bytes(0); }
    T* data() const { return device_.data(); }
    T read() const {
        T value;
        CUDA_CHECK(cudaGetLastError());
        CUDA_CHECK(cudaMemcpy(&value, device_.data(), sizeof value, cudaMemcpyDeviceToHost));
        return value;
    }

  private:
    DeviceBuffer<T> device_;
};

class Event {
  public:
    Event() { CUDA_CHECK(cudaEventCreate(&event_)); }
    ~Event() { cudaEventDestroy(event_); }
    Event(const Event&) = delete;
    Event& operator=(const Event&) = delete;
    void record() { CUDA_CHECK(cudaEventRecord(event_)); }
    double ns_since(const Event& start) const {
        float ms = 0;
        CUDA_CHECK(cudaEventElapsedTime(&ms, start.event_, event_));
        return ms * 1e6;
    }

  private:
    cudaEvent_t event_ = nullptr;
};

// A well-mixed function of (seed, index) alone, so that any launch shape draws the same data.
__host__ __device__ inline uint64_t random_bits(uint64_t seed, uint64_t index) {
    uint64_t x = seed + (index + 1) * 0x9E3779B97F4A7C15ull;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
    return x ^ (x >> 31);
}

// Uniform in [-largest, largest).
template <class Element>
__global__ void fill_uniform_kernel(Element* out, size_t count, uint64_t seed, float largest) {
    for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < count; i += size_t(gridDim.x) * blockDim.x)
        out[i] = Element(largest * (float(random_bits(seed, i) >> 40) * 0x1p-23f - 1.0f));
}

template <class Element>
void fill_uniform(Element* out, size_t count, uint64_t seed, float largest = 1) {
    fill_uniform_kernel<<<1024, 256>>>(out, count, seed, largest);
    CUDA_CHECK(cudaGetLastError());
}

__global__ static void count_different(const unsigned char* a, const unsigned char* b, size_t count, unsigned long long* found) {
    for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < count; i += size_t(gridDim.x) * blockDim.x)
        if (a[i] != b[i]) atomicAdd(found, 1ull);
}

__global__ static void read_all(const uint4* data, size_t count, uint32_t* sink) {
    uint32_t seen = 0;
    for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < count; i += size_t(gridDim.x) * blockDim.x)
        seen |= data[i].x | data[i].y | data[i].z | data[i].w;
    if (seen) *sink = seen;
}

// Empties the L2 by reading something larger: nothing that a kernel wants is left in it, and no dirty line of somebody
// else either, whose way back to memory the kernel would have to wait for.
class ColdCache {
  public:
    explicit ColdCache(const cudaDeviceProp& device) : other_(size_t(std::max(device.l2CacheSize, 1 << 20)) / sizeof(uint4) * 4) {
        other_.fill_bytes(0);
    }
    void flush() { read_all<<<1024, 256>>>(other_.data(), other_.count(), sink_.data()); }

  private:
    DeviceBuffer<uint4> other_;
    DeviceBuffer<uint32_t> sink_{1};
};

}  // namespace harness
