// Runs the kernels of one file, each on fresh data.
//
//   ./program            verifies: kernels of one set must give the same result. Prints each kernel's time in us.
//   ./program --list     prints the name of each report.
//   ./program NAME [N]   runs one of them for ncu: a warm-up, then N launches between cudaProfilerStart and Stop.
#pragma once
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>

#include <cuda_profiler_api.h>
#include <cuda_runtime.h>

#define CHECK(call)                                                         \
  do {                                                                      \
    cudaError_t status = (call);                                            \
    if (status != cudaSuccess) {                                            \
      std::fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(status));  \
      std::exit(1);                                                         \
    }                                                                       \
  } while (0)

constexpr int SMS = 132;  // of an H200
constexpr size_t MB = size_t(1) << 20;

inline unsigned blocks_for(size_t n, size_t of) { return static_cast<unsigned>((n + of - 1) / of); }

// An integer that looks random: the same for the same place and seed, whatever the layout.
__host__ __device__ inline unsigned hashed(unsigned i, unsigned seed) {
  unsigned h = i * 2654435761u ^ seed * 0x9e3779b9u;
  h ^= h >> 16;
  h *= 0x85ebca6bu;
  h ^= h >> 13;
  h *= 0xc2b2ae35u;
  return h ^ h >> 16;
}

__host__ __device__ inline float uniform(unsigned i, unsigned seed) { return (hashed(i, seed) >> 8) * (1.0f / (1 << 24)); }

template <typename T, typename F>
__global__ void setup_each(T* at, size_t n, F value) {
  for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < n; i += size_t(gridDim.x) * blockDim.x) at[i] = value(i);
}

template <typename T>
__global__ void setup_compare(const T* found, const T* expected, size_t n, double tolerance, unsigned long long* wrong) {
  for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < n; i += size_t(gridDim.x) * blockDim.x) {
    double x = static_cast<double>(found[i]), y = static_cast<double>(expected[i]);
    if (!(fabs(x - y) <= tolerance * (1 + fabs(y)))) atomicAdd(wrong, 1ull);
    if (y != 0) atomicAdd(wrong + 1, 1ull);
  }
}

template <typename T, typename F>
void fill(T* at, size_t n, F value) {
  setup_each<<<SMS * 8, 256>>>(at, n, value);
  CHECK(cudaGetLastError());
}

inline void fill_uniform(float* at, size_t n, unsigned seed) {
  fill(at, n, [=] __device__(size_t i) { return uniform(static_cast<unsigned>(i), seed); });
}

class Program {
 public:
  Program(int argc, char** argv) : only_(argc > 1 ? argv[1] : ""), launches_(argc > 2 ? std::atoi(argv[2]) : 1) {
    if (only_ == "--list") return;
    for (void** one : {&in_, &more_, &out_}) CHECK(cudaMalloc(one, BYTES));
    if (only_.empty()) {
      CHECK(cudaMalloc(&reference_, BYTES));
      CHECK(cudaMalloc(&wrong_, 16));
    }
  }

  static constexpr size_t BYTES = 1024 * MB;
  template <typename T> T* in(size_t offset = 0) { return reinterpret_cast<T*>(static_cast<char*>(in_) + offset); }
  template <typename T> T* more(size_t offset = 0) { return reinterpret_cast<T*>(static_cast<char*>(more_) + offset); }
  template <typename T> T* out(size_t offset = 0) { return reinterpret_cast<T*>(static_cast<char*>(out_) + offset); }

  // Begins kernels that must give the same result; `tolerance` is relative to 1 + |value|.
  void set(double tolerance = 0) {
    tolerance_ = tolerance;
    first_ = true;
  }

  // One kernel: `count` values of type T at out() are its result, which begins as zeros.
  template <typename T>
  void kernel(const char* name, size_t count, std::function<void()> prepare, std::function<void()> launch) {
    if (only_ == "--list") {
      std::printf("%s\n", name);
      return;
    }
    if (!only_.empty() && only_ != name) return;
    found_ = true;
    CHECK(cudaMemset(out_, 0, count * sizeof(T)));
    prepare();
    CHECK(cudaDeviceSynchronize());
    launch();
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
    if (only_.empty()) {
      verify<T>(name, count);
      time(name, launch);
      return;
    }
    CHECK(cudaProfilerStart());
    for (int i = 0; i < launches_; ++i) launch();
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaProfilerStop());
  }

  int end() const {
    if (only_ == "--list") return 0;
    if (!found_) std::fprintf(stderr, "no kernel '%s'\n", only_.c_str());
    return failed_ || !found_;
  }

 private:
  template <typename T>
  void verify(const char* name, size_t count) {
    if (first_) CHECK(cudaMemcpy(reference_, out_, count * sizeof(T), cudaMemcpyDeviceToDevice));
    first_ = false;
    unsigned long long wrong[2] = {};
    CHECK(cudaMemset(wrong_, 0, sizeof wrong));
    setup_compare<<<SMS * 8, 256>>>(out<T>(), static_cast<T*>(reference_), count, tolerance_, wrong_);
    CHECK(cudaMemcpy(wrong, wrong_, sizeof wrong, cudaMemcpyDeviceToHost));
    if (wrong[0] || !wrong[1]) {
      std::fprintf(stderr, "%s: %llu of %zu values are wrong, %llu are not zero\n", name, wrong[0], count, wrong[1]);
      failed_ = true;
    }
  }

  void time(const char* name, const std::function<void()>& launch) {
    cudaEvent_t begin, end;
    CHECK(cudaEventCreate(&begin));
    CHECK(cudaEventCreate(&end));
    float best = INFINITY;
    for (int i = 0; i < 5; ++i) {
      float ms;
      CHECK(cudaEventRecord(begin));
      launch();
      CHECK(cudaEventRecord(end));
      CHECK(cudaEventSynchronize(end));
      CHECK(cudaEventElapsedTime(&ms, begin, end));
      best = std::fmin(best, ms);
    }
    std::printf("%s,%.2f\n", name, best * 1000);
  }

  std::string only_;
  int launches_;
  void *in_ = nullptr, *more_ = nullptr, *out_ = nullptr, *reference_ = nullptr;
  unsigned long long* wrong_ = nullptr;
  double tolerance_ = 0;
  bool first_ = true, found_ = false, failed_ = false;
};
