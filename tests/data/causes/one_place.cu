// Kernels whose threads meet at one place in memory: they all store there, count there, or wait there for a lock. Each stands beside one
// that differs by that alone.
#include "program.cuh"

// ---- an array that is scaled, whose length is stored behind it: by all threads, then by one

__device__ __forceinline__ float twice(float x) { return 2 * x; }
__device__ __forceinline__ float4 twice(float4 x) { return make_float4(2 * x.x, 2 * x.y, 2 * x.z, 2 * x.w); }

template <bool BY_ALL, typename T>
__device__ __forceinline__ void scale(const T* __restrict__ in, T* __restrict__ out, float* __restrict__ length, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (BY_ALL || i == 0) *length = count;  // <- stored_by_all
  if (i < count) out[i] = twice(in[i]);
}

__global__ void scaled_by_all(const float* in, float* out, float* length, int count) { scale<true>(in, out, length, count); }
__global__ void scaled_by_one(const float* in, float* out, float* length, int count) { scale<false>(in, out, length, count); }
__global__ void vectors_by_all(const float4* in, float4* out, float* length, int count) { scale<true>(in, out, length, count); }
__global__ void vectors_by_one(const float4* in, float4* out, float* length, int count) { scale<false>(in, out, length, count); }

// ---- how often each distance occurs between the points of a line, counted by few blocks: in global memory, then in a copy for each block

constexpr int POINTS = 8192, BINS = 64, FEW = 64;

__device__ __forceinline__ int bin_of(float x, float y) { return static_cast<int>(fabsf(x - y) * BINS); }

__global__ void distances_in_memory(const float* __restrict__ points, int* __restrict__ counts) {
  float own = points[blockIdx.x * FEW + threadIdx.x];
#pragma unroll 1
  for (int j = 0; j < POINTS; ++j) atomicAdd(&counts[bin_of(own, points[j])], 1);  // <- distances_in_memory
}

__global__ void distances_in_block(const float* __restrict__ points, int* __restrict__ counts) {
  __shared__ int own_counts[BINS];
  if (threadIdx.x < BINS) own_counts[threadIdx.x] = 0;
  __syncthreads();
  float own = points[blockIdx.x * FEW + threadIdx.x];
#pragma unroll 1
  for (int j = 0; j < POINTS; ++j) atomicAdd(&own_counts[bin_of(own, points[j])], 1);
  __syncthreads();
  if (threadIdx.x < BINS) atomicAdd(&counts[threadIdx.x], own_counts[threadIdx.x]);
}

// ---- the largest value of each place, by few blocks: behind one lock, then behind a lock for each place

constexpr int PLACES = 4096, VALUES = 4096, LOCKING = 4;

template <bool EACH>
__device__ __forceinline__ void keep_largest(const float* __restrict__ in, int* locks, volatile float* largest) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < VALUES; i += gridDim.x * blockDim.x) {
    int place = hashed(i, 5) % PLACES;
    int* lock = locks + (EACH ? place : 0);
    for (bool done = false; !done;) {
      if (atomicCAS(lock, 0, 1) == 0) {  // <- largest_one_lock
        __threadfence();                 // <- largest_one_lock
        if (in[i] > largest[place]) largest[place] = in[i];
        __threadfence();                 // <- largest_one_lock
        atomicExch(lock, 0);             // <- largest_one_lock
        done = true;
      }
    }
  }
}

__global__ void largest_one_lock(const float* in, int* locks, float* largest) { keep_largest<false>(in, locks, largest); }
__global__ void largest_lock_each(const float* in, int* locks, float* largest) { keep_largest<true>(in, locks, largest); }

int main(int argc, char** argv) {
  Program p(argc, argv);
  float *in = p.in<float>(), *out = p.out<float>();
  int* locks = p.more<int>();
  auto floats = [=] {
    fill_uniform(in, 1 << 26, 1);
    fill(locks, PLACES, [] __device__(size_t) { return 0; });
  };

  constexpr int COUNT = 1 << 25, VECTORS = COUNT / 4;
  const float4* in_fours = p.in<float4>();
  float4* out_fours = p.out<float4>();
  p.set();
  p.kernel<float>("scaled_by_all", COUNT + 1, floats, [=] { scaled_by_all<<<COUNT / 256, 256>>>(in, out, out + COUNT, COUNT); });
  p.kernel<float>("scaled_by_one", COUNT + 1, floats, [=] { scaled_by_one<<<COUNT / 256, 256>>>(in, out, out + COUNT, COUNT); });
  p.set();
  p.kernel<float>("vectors_by_all", COUNT + 1, floats, [=] { vectors_by_all<<<VECTORS / 256, 256>>>(in_fours, out_fours, out + COUNT, VECTORS); });
  p.kernel<float>("vectors_by_one", COUNT + 1, floats, [=] { vectors_by_one<<<VECTORS / 256, 256>>>(in_fours, out_fours, out + COUNT, VECTORS); });

  int* counts = p.out<int>();
  p.set();
  p.kernel<int>("distances_in_memory", BINS, floats, [=] { distances_in_memory<<<POINTS / FEW, FEW>>>(in, counts); });
  p.kernel<int>("distances_in_block", BINS, floats, [=] { distances_in_block<<<POINTS / FEW, FEW>>>(in, counts); });

  p.set();
  p.kernel<float>("largest_one_lock", PLACES, floats, [=] { largest_one_lock<<<LOCKING, 256>>>(in, locks, out); });
  p.kernel<float>("largest_lock_each", PLACES, floats, [=] { largest_lock_each<<<LOCKING, 256>>>(in, locks, out); });
  return p.end();
}
