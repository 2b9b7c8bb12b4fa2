// Kernels whose blocks keep what they need in the same turn in global memory.
#include "program.cuh"

// ---- steps of a network: a block multiplies a matrix by the state of its sequence, by way of all products, or adding them up at once

constexpr int STATES = 256, THREADS = 512, WARPS = THREADS / 32, SEQUENCES = SMS * 2, STEPS = 24;

template <bool SCRATCH>
__device__ __forceinline__ void walk(const float* __restrict__ weights, const float* __restrict__ in, float* products, float* __restrict__ out) {
  __shared__ float state[STATES];
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  products += size_t(blockIdx.x) * STATES * STATES;
  for (int i = threadIdx.x; i < STATES; i += THREADS) state[i] = in[blockIdx.x * STATES + i];
  __syncthreads();
  for (int step = 0; step < STEPS; ++step) {
    if (SCRATCH) {
      for (int i = threadIdx.x; i < STATES * STATES; i += THREADS) products[i] = weights[i] * state[i % STATES];  // <- steps_by_scratch
      __syncthreads();
    }
    float next[STATES / WARPS];
    for (int row = warp, k = 0; row < STATES; row += WARPS, ++k) {
      float sum = 0;
      for (int i = lane; i < STATES; i += 32)
        sum += SCRATCH ? products[row * STATES + i] : weights[row * STATES + i] * state[i];  // <- steps_by_scratch
      for (int far = 16; far; far /= 2) sum += __shfl_xor_sync(~0u, sum, far);
      next[k] = sum / (1 + fabsf(sum));
    }
    __syncthreads();
    if (lane == 0)
      for (int row = warp, k = 0; row < STATES; row += WARPS, ++k) state[row] = next[k];
    __syncthreads();
  }
  for (int i = threadIdx.x; i < STATES; i += THREADS) out[blockIdx.x * STATES + i] = state[i];
}

__global__ void steps_by_scratch(const float* __restrict__ weights, const float* __restrict__ in, float* products, float* __restrict__ out) {
  walk<true>(weights, in, products, out);
}
__global__ void steps_at_once(const float* __restrict__ weights, const float* __restrict__ in, float* products, float* __restrict__ out) {
  walk<false>(weights, in, products, out);
}

int main(int argc, char** argv) {
  Program p(argc, argv);
  float *in = p.in<float>(), *weights = p.in<float>(64 * MB), *products = p.more<float>(), *out = p.out<float>();
  auto network = [=] {
    fill_uniform(in, size_t(SEQUENCES) * STATES, 1);
    fill_uniform(weights, size_t(STATES) * STATES, 2);
  };
  p.set(1e-4);
  p.kernel<float>("steps_by_scratch", size_t(SEQUENCES) * STATES, network, [=] { steps_by_scratch<<<SEQUENCES, THREADS>>>(weights, in, products, out); });
  p.kernel<float>("steps_at_once", size_t(SEQUENCES) * STATES, network, [=] { steps_at_once<<<SEQUENCES, THREADS>>>(weights, in, products, out); });
  return p.end();
}
