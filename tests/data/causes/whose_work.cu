// Kernels that share their work out badly: one thread does what a block could, or every block does all of it. Each stands beside one that
// differs by that alone.
#include "program.cuh"

// ---- the energy of bodies, each in the field of its neighbours: the last block adds the bodies up, by one thread or by all

constexpr int BODIES = 1 << 16, NEIGHBOURS = 64, OF_BLOCK = 256;

__device__ __forceinline__ float energy_of(const float* __restrict__ places, int i) {
  float sum = 0, own = places[i];
  for (int k = 1; k <= NEIGHBOURS; ++k) sum += rsqrtf(fabsf(own - places[(i + k) % BODIES]) + 1.0f);
  return sum;
}

template <bool BY_ALL>
__device__ __forceinline__ void add_energies(const float* __restrict__ places, float* energies, unsigned* done, float* result) {
  __shared__ bool is_last;
  __shared__ float sums[OF_BLOCK];
  int i = blockIdx.x * OF_BLOCK + threadIdx.x;
  energies[i] = energy_of(places, i);
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) is_last = atomicAdd(done, 1u) == gridDim.x - 1;
  __syncthreads();
  if (!is_last) return;
  float sum = 0;
  if (BY_ALL) {
    for (int k = threadIdx.x; k < BODIES; k += OF_BLOCK) sum += __ldcg(energies + k);
    sums[threadIdx.x] = sum;
    __syncthreads();
    for (int half = OF_BLOCK / 2; half > 0; half /= 2) {
      if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
      __syncthreads();
    }
    sum = sums[0];
  } else if (threadIdx.x == 0) {
    for (int k = 0; k < BODIES; ++k) sum += __ldcg(energies + k);  // <- energies_by_one
  }
  if (threadIdx.x == 0) {
    *result = sum;
    *done = 0;
  }
}

__global__ void energies_by_one(const float* places, float* energies, unsigned* done, float* result) { add_energies<false>(places, energies, done, result); }
__global__ void energies_by_block(const float* places, float* energies, unsigned* done, float* result) { add_energies<true>(places, energies, done, result); }

// ---- logarithms of the odds of a list: every block goes through all of it, then through a part of its own

constexpr int ODDS = 1 << 18, SOME_BLOCKS = 1024;

__global__ void odds_by_every_block(const float* __restrict__ in, float* __restrict__ out) {
  for (int i = threadIdx.x; i < ODDS; i += blockDim.x) out[i] = logf(in[i] / (1.0001f - in[i]));  // <- odds_by_every_block
}

__global__ void odds_by_own_block(const float* __restrict__ in, float* __restrict__ out) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < ODDS; i += gridDim.x * blockDim.x) out[i] = logf(in[i] / (1.0001f - in[i]));
}

int main(int argc, char** argv) {
  Program p(argc, argv);
  float *in = p.in<float>(), *out = p.out<float>(), *energies = p.more<float>();
  unsigned* done = p.more<unsigned>(512 * MB);
  auto prepare = [=] {
    fill_uniform(in, 1 << 20, 1);
    fill(done, 1, [] __device__(size_t) { return 0u; });
  };

  p.set(1e-2);
  p.kernel<float>("energies_by_one", 1, prepare, [=] { energies_by_one<<<BODIES / OF_BLOCK, OF_BLOCK>>>(in, energies, done, out); });
  p.kernel<float>("energies_by_block", 1, prepare, [=] { energies_by_block<<<BODIES / OF_BLOCK, OF_BLOCK>>>(in, energies, done, out); });

  p.set();
  p.kernel<float>("odds_by_every_block", ODDS, prepare, [=] { odds_by_every_block<<<SOME_BLOCKS, 256>>>(in, out); });
  p.kernel<float>("odds_by_own_block", ODDS, prepare, [=] { odds_by_own_block<<<SOME_BLOCKS, 256>>>(in, out); });
  return p.end();
}
