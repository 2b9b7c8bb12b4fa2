// Blocks add samples of 32 channels up in shared memory: the moments of each channel, and those of all channels together.
#include "program.cuh"

constexpr int CHANNELS = 32, SAMPLES = 256, BLOCK = 256;

// ---- a warp takes a sample and each lane a channel; all warps add to the same rows, one a channel

template <typename T, int MOMENTS, int ROW>
__device__ __forceinline__ void add_moments(T* out, const T* __restrict__ samples, const T* __restrict__ basis) {
  extern __shared__ char memory[];
  T* sums = (T*)memory;
  for (int k = threadIdx.x; k < CHANNELS * ROW; k += BLOCK) sums[k] = 0;
  __syncthreads();
  int channel = threadIdx.x % CHANNELS;
  const T* own = samples + size_t(blockIdx.x) * SAMPLES * CHANNELS;
  for (int i = threadIdx.x / CHANNELS; i < SAMPLES; i += BLOCK / CHANNELS) {
    T value = own[i * CHANNELS + channel];
    for (int k = 0; k < MOMENTS; k++)
      atomicAdd(&sums[channel * ROW + k], value * basis[i * MOMENTS + k]);  // <- moments_apart
  }
  __syncthreads();
  for (int k = threadIdx.x; k < CHANNELS * MOMENTS; k += BLOCK)
    out[size_t(blockIdx.x) * CHANNELS * MOMENTS + k] = sums[k / MOMENTS * ROW + k % MOMENTS];
}

__global__ void moments_apart(double* out, const double* samples, const double* basis) { add_moments<double, 16, 16>(out, samples, basis); }
__global__ void moments_padded(double* out, const double* samples, const double* basis) { add_moments<double, 16, 17>(out, samples, basis); }
__global__ void moments_apart_float(float* out, const float* samples, const float* basis) { add_moments<float, 32, 32>(out, samples, basis); }
__global__ void moments_padded_float(float* out, const float* samples, const float* basis) { add_moments<float, 32, 33>(out, samples, basis); }

// ---- the moments of all channels together: the lanes of a warp meet at one place

template <bool BY_WARP>
__device__ __forceinline__ void add_together(float* out, const float* __restrict__ samples, const float* __restrict__ basis) {
  constexpr int MOMENTS = 32;
  __shared__ float sums[MOMENTS];
  if (threadIdx.x < MOMENTS) sums[threadIdx.x] = 0;
  __syncthreads();
  int channel = threadIdx.x % CHANNELS;
  const float* own = samples + size_t(blockIdx.x) * SAMPLES * CHANNELS;
  for (int i = threadIdx.x / CHANNELS; i < SAMPLES; i += BLOCK / CHANNELS) {
    float value = own[i * CHANNELS + channel];
    if (BY_WARP) {
      for (int step = 16; step; step /= 2) value += __shfl_xor_sync(~0u, value, step);
      atomicAdd(&sums[channel], value * basis[i * MOMENTS + channel]);
      continue;
    }
    for (int k = 0; k < MOMENTS; k++) atomicAdd(&sums[k], value * basis[i * MOMENTS + k]);  // <- moments_together
  }
  __syncthreads();
  if (threadIdx.x < MOMENTS) out[blockIdx.x * MOMENTS + threadIdx.x] = sums[threadIdx.x];
}

__global__ void moments_together(float* out, const float* samples, const float* basis) { add_together<false>(out, samples, basis); }
__global__ void moments_by_warp(float* out, const float* samples, const float* basis) { add_together<true>(out, samples, basis); }

int main(int argc, char** argv) {
  Program p(argc, argv);
  constexpr int BLOCKS = SMS * 8;
  constexpr size_t VALUES = size_t(BLOCKS) * SAMPLES * CHANNELS;
  double *out_d = p.out<double>(), *in_d = p.in<double>(), *basis_d = p.more<double>();
  float *out = p.out<float>(), *in = p.in<float>(), *basis = p.more<float>();
  auto doubles = [=] {
    fill(in_d, VALUES, [] __device__(size_t i) { return double(uniform(unsigned(i), 1)); });
    fill(basis_d, SAMPLES * 16, [] __device__(size_t i) { return double(uniform(unsigned(i), 2)); });
  };
  auto floats = [=] {
    fill_uniform(in, VALUES, 1);
    fill_uniform(basis, SAMPLES * 32, 2);
  };
  p.set(1e-9);
  p.kernel<double>("moments_apart", BLOCKS * CHANNELS * 16, doubles, [=] { moments_apart<<<BLOCKS, BLOCK, CHANNELS * 16 * sizeof(double)>>>(out_d, in_d, basis_d); });
  p.kernel<double>("moments_padded", BLOCKS * CHANNELS * 16, doubles, [=] { moments_padded<<<BLOCKS, BLOCK, CHANNELS * 17 * sizeof(double)>>>(out_d, in_d, basis_d); });
  p.set(1e-4);
  p.kernel<float>("moments_apart_float", BLOCKS * CHANNELS * 32, floats, [=] { moments_apart_float<<<BLOCKS, BLOCK, CHANNELS * 32 * sizeof(float)>>>(out, in, basis); });
  p.kernel<float>("moments_padded_float", BLOCKS * CHANNELS * 32, floats, [=] { moments_padded_float<<<BLOCKS, BLOCK, CHANNELS * 33 * sizeof(float)>>>(out, in, basis); });
  p.set(1e-3);
  p.kernel<float>("moments_together", BLOCKS * 32, floats, [=] { moments_together<<<BLOCKS, BLOCK>>>(out, in, basis); });
  p.kernel<float>("moments_by_warp", BLOCKS * 32, floats, [=] { moments_by_warp<<<BLOCKS, BLOCK>>>(out, in, basis); });
  return p.end();
}
