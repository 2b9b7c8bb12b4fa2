// Kernels that store values in one loop and load them again in a later one: their own, or those of their neighbours.
#include "program.cuh"

constexpr int THREADS = 512, EACH = 8, COLUMNS = THREADS * EACH;

__device__ __forceinline__ float sum_of_block(float value) {
  __shared__ float sums[THREADS / 32];
  for (int step = 16; step; step /= 2) value += __shfl_xor_sync(~0u, value, step);
  if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = value;
  __syncthreads();
  float sum = 0;
  for (float one : sums) sum += one;
  return sum;
}

// ---- rows of weights that add up to one: the sum is known at the end of a row

__global__ void weights_stored(const float* __restrict__ scores, float* __restrict__ weights, int columns) {
  const float* row = scores + size_t(blockIdx.x) * columns;
  float* to = weights + size_t(blockIdx.x) * columns;
  float sum = 0;
  for (int i = threadIdx.x; i < columns; i += THREADS) {
    float weight = __expf(row[i]);
    to[i] = weight;  // <- weights_stored
    sum += weight;
  }
  float scale = 1 / sum_of_block(sum);
  for (int i = threadIdx.x; i < columns; i += THREADS) to[i] = to[i] * scale;  // <- weights_stored
}

__global__ void weights_held(const float* __restrict__ scores, float* __restrict__ weights, int) {
  const float* row = scores + size_t(blockIdx.x) * COLUMNS;
  float* to = weights + size_t(blockIdx.x) * COLUMNS;
  float sum = 0, held[EACH];
#pragma unroll
  for (int k = 0; k < EACH; ++k) {
    held[k] = __expf(row[threadIdx.x + k * THREADS]);
    sum += held[k];
  }
  float scale = 1 / sum_of_block(sum);
#pragma unroll
  for (int k = 0; k < EACH; ++k) to[threadIdx.x + k * THREADS] = held[k] * scale;
}

// ---- rows of signals and their norms: the signals are a result, too

__global__ void signals_loaded(const float* __restrict__ in, float* signals, float* normed, int columns) {
  size_t row = size_t(blockIdx.x) * columns;
  float sum = 0;
  for (int i = threadIdx.x; i < columns; i += THREADS) {
    float signal = fmaf(in[row + i], 3.0f, -1.0f);
    signals[row + i] = signal;
    sum = fmaf(signal, signal, sum);
  }
  float scale = rsqrtf(sum_of_block(sum));
  for (int i = threadIdx.x; i < columns; i += THREADS) normed[row + i] = signals[row + i] * scale;  // <- signals_loaded
}

__global__ void signals_held(const float* __restrict__ in, float* signals, float* normed, int) {
  size_t row = size_t(blockIdx.x) * COLUMNS;
  float sum = 0, held[EACH];
#pragma unroll
  for (int k = 0; k < EACH; ++k) {
    held[k] = fmaf(in[row + threadIdx.x + k * THREADS], 3.0f, -1.0f);
    signals[row + threadIdx.x + k * THREADS] = held[k];
    sum = fmaf(held[k], held[k], sum);
  }
  float scale = rsqrtf(sum_of_block(sum));
#pragma unroll
  for (int k = 0; k < EACH; ++k) normed[row + threadIdx.x + k * THREADS] = held[k] * scale;
}

// ---- the same, but a thread loads what its neighbour has stored

__global__ void signals_of_neighbours(const float* __restrict__ in, float* signals, float* normed, int columns) {
  size_t row = size_t(blockIdx.x) * columns;
  float sum = 0;
  for (int i = threadIdx.x; i < columns; i += THREADS) {
    float signal = fmaf(in[row + i], 3.0f, -1.0f);
    signals[row + i] = signal;
    sum = fmaf(signal, signal, sum);
  }
  float scale = rsqrtf(sum_of_block(sum));
  for (int i = threadIdx.x; i < columns; i += THREADS) normed[row + i] = signals[row + (i + 1) % columns] * scale;
}

int main(int argc, char** argv) {
  Program p(argc, argv);
  float* in = p.in<float>();
  float *out = p.out<float>(), *more = p.more<float>();
  constexpr int ROWS = 16 * 1024, FEW = 1024;  // far more than L2 holds, and all that the kernel touches in L2
  auto floats = [=] { fill_uniform(in, size_t(ROWS) * COLUMNS, 1); };
  p.set(1e-7);
  p.kernel<float>("weights_stored", size_t(ROWS) * COLUMNS, floats, [=] { weights_stored<<<ROWS, THREADS>>>(in, out, COLUMNS); });
  p.kernel<float>("weights_held", size_t(ROWS) * COLUMNS, floats, [=] { weights_held<<<ROWS, THREADS>>>(in, out, COLUMNS); });
  p.set(1e-6);
  p.kernel<float>("signals_loaded", size_t(FEW) * COLUMNS, floats, [=] { signals_loaded<<<FEW, THREADS>>>(in, more, out, COLUMNS); });
  p.kernel<float>("signals_held", size_t(FEW) * COLUMNS, floats, [=] { signals_held<<<FEW, THREADS>>>(in, more, out, COLUMNS); });
  p.set(1e-6);
  p.kernel<float>("signals_of_neighbours", size_t(FEW) * COLUMNS, floats, [=] { signals_of_neighbours<<<FEW, THREADS>>>(in, more, out, COLUMNS); });
  return p.end();
}
