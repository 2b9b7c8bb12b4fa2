// What is decided when a kernel is compiled: whether it is optimised, and whether a result is stored once.
//
// record.py builds this file twice: compilation_debug is the same with -G.
#include "program.cuh"

// ---- a sum of harmonics; compiled for debugging, it moves every value several times

__global__ void harmonics(const float* __restrict__ in, float* __restrict__ out, int n, int terms) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float x = in[i], power = 1, sum = 0;
  for (int k = 1; k <= terms; ++k) {
    power *= x;
    sum += power * (1.0f / 64) * k;
  }
  out[i] = sum;
}

// ---- sums of columns, stored in every turn, then once

__global__ void sums_stored_each(const float* in, float* out, int rows, int width) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0;
  for (int row = 0; row < rows; ++row) {
    sum += in[size_t(row) * width + i];
    out[i] = sum;  // <- sums_stored_each
  }
}

__global__ void sums_stored_once(const float* in, float* out, int rows, int width) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0;
  for (int row = 0; row < rows; ++row) sum += in[size_t(row) * width + i];
  out[i] = sum;
}

int main(int argc, char** argv) {
  Program p(argc, argv);
  float *in = p.in<float>(), *out = p.out<float>();

  constexpr int N = 1 << 22, TERMS = 256;
#ifdef __CUDACC_DEBUG__
  const char* name = "harmonics_debug";
#else
  const char* name = "harmonics";
#endif
  p.set(1e-4);
  p.kernel<float>(name, N, [=] { fill(in, N, [=] __device__(size_t i) { return uniform(unsigned(i), 1); }); },
                  [=] { harmonics<<<N / 256, 256>>>(in, out, N, TERMS); });
#ifndef __CUDACC_DEBUG__
  constexpr int WIDTH = 1 << 18, ROWS = 512;
  auto rows = [=] { fill(in, size_t(WIDTH) * ROWS, [=] __device__(size_t i) { return uniform(unsigned(i), 2); }); };
  p.set(1e-4);
  p.kernel<float>("sums_stored_each", WIDTH, rows, [=] { sums_stored_each<<<WIDTH / 256, 256>>>(in, out, ROWS, WIDTH); });
  p.kernel<float>("sums_stored_once", WIDTH, rows, [=] { sums_stored_once<<<WIDTH / 256, 256>>>(in, out, ROWS, WIDTH); });
#endif
  return p.end();
}
