// A kernel whose blocks work in place on their parts of an array, in global memory and in shared memory.
#include "program.cuh"

// ---- each block sorts its part by a network of comparisons, a barrier after each step

constexpr int PART = 1024;

template <bool IN_BLOCK>
__device__ __forceinline__ void sort_parts(float* __restrict__ values) {
  __shared__ float held[IN_BLOCK ? PART : 1];
  int t = threadIdx.x;
  float* part = values + blockIdx.x * PART;
  float* at = IN_BLOCK ? held : part;
  if (IN_BLOCK) {
    for (int i = t; i < PART; i += PART / 2) held[i] = part[i];
    __syncthreads();
  }
  for (int run = 2; run <= PART; run *= 2)
    for (int step = run / 2; step; step /= 2) {
      int low = 2 * step * (t / step) + t % step, high = low + step;
      float a = at[low], b = at[high];  // <- sorted_in_memory
      bool rises = (low & run) == 0;
      at[low] = rises ? fminf(a, b) : fmaxf(a, b);   // <- sorted_in_memory
      at[high] = rises ? fmaxf(a, b) : fminf(a, b);  // <- sorted_in_memory
      __syncthreads();
    }
  if (IN_BLOCK)
    for (int i = t; i < PART; i += PART / 2) part[i] = held[i];
}

__global__ void sorted_in_memory(float* values) { sort_parts<false>(values); }
__global__ void sorted_in_block(float* values) { sort_parts<true>(values); }

int main(int argc, char** argv) {
  Program p(argc, argv);
  float* out = p.out<float>();
  constexpr int PARTS = SMS * 64;
  auto floats = [=] { fill_uniform(out, size_t(PARTS) * PART, 1); };
  p.set();
  p.kernel<float>("sorted_in_memory", size_t(PARTS) * PART, floats, [=] { sorted_in_memory<<<PARTS, PART / 2>>>(out); });
  p.kernel<float>("sorted_in_block", size_t(PARTS) * PART, floats, [=] { sorted_in_block<<<PARTS, PART / 2>>>(out); });
  return p.end();
}
