// Kernels with more machine code than the instruction caches hold, each beside one that differs by that alone.
#include "program.cuh"

// ---- a mixture of four values: its loops unrolled whole, then by sixteen

template <int UNROLL>
__device__ __forceinline__ void mix(const float* __restrict__ in, float* __restrict__ out, int rounds) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float a = in[i], b = a + 1, c = a + 2, d = a + 3;
#pragma unroll 1
  for (int round = 0; round < rounds; ++round) {
#pragma unroll UNROLL
    for (int k = 0; k < 2048; ++k) {
      a = b * 0.2f + 0.1f;  // <- mix_unrolled
      b = c * 0.2f + a;     // <- mix_unrolled
      c = d * 0.2f - b;     // <- mix_unrolled
      d = a * 0.2f + c;     // <- mix_unrolled
    }
#pragma unroll UNROLL
    for (int k = 0; k < 2048; ++k) {
      a = b * 0.3f + 0.2f;  // <- mix_unrolled
      b = c * 0.3f - a;     // <- mix_unrolled
      c = d * 0.2f + b;     // <- mix_unrolled
      d = a * 0.1f + c;     // <- mix_unrolled
    }
  }
  out[i] = a + b + c + d;
}

__global__ void mix_unrolled(const float* __restrict__ in, float* __restrict__ out, int rounds) { mix<2048>(in, out, rounds); }
__global__ void mix_sixteen(const float* __restrict__ in, float* __restrict__ out, int rounds) { mix<16>(in, out, rounds); }

// ---- an interpreter of 256 operations, each code of its own and each warp at another, then one code with a table

template <int OPERATION>
__device__ __forceinline__ float operate(float x) {
#pragma unroll
  for (int k = 0; k < 48; ++k) x = x * (0.5f + OPERATION * 0.001f + k * 0.002f) + (0.1f + OPERATION * 0.0005f + k * 0.001f);  // <- interpret_cases
  return x;
}

#define CASE(n) \
  case n: x = operate<n>(x); break;
#define CASES4(n) CASE(n) CASE(n + 1) CASE(n + 2) CASE(n + 3)
#define CASES16(n) CASES4(n) CASES4(n + 4) CASES4(n + 8) CASES4(n + 12)
#define CASES64(n) CASES16(n) CASES16(n + 16) CASES16(n + 32) CASES16(n + 48)

__global__ void interpret_cases(const float* __restrict__ in, float* __restrict__ out, int steps) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float x = in[i];
  unsigned at = i / 32 * 37;
#pragma unroll 1
  for (int k = 0; k < steps; ++k) {
    at = at * 5 + 89;
    switch (at / 4 % 256) {  // <- interpret_cases
      CASES64(0) CASES64(64) CASES64(128) CASES64(192)
    }
  }
  out[i] = x;
}

__global__ void interpret_table(const float* __restrict__ in, float* __restrict__ out, int steps) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float x = in[i];
  unsigned at = i / 32 * 37;
#pragma unroll 1
  for (int k = 0; k < steps; ++k) {
    at = at * 5 + 89;
    float operation = at / 4 % 256;
    float factor = 0.5f + operation * 0.001f, term = 0.1f + operation * 0.0005f;
#pragma unroll
    for (int j = 0; j < 48; ++j) x = x * (factor + j * 0.002f) + (term + j * 0.001f);
  }
  out[i] = x;
}

int main(int argc, char** argv) {
  Program p(argc, argv);
  float *in = p.in<float>(), *out = p.out<float>();
  auto floats = [=] { fill_uniform(in, 1 << 20, 1); };
  p.set(1e-3);
  p.kernel<float>("mix_unrolled", SMS * 1024, floats, [=] { mix_unrolled<<<SMS * 4, 256>>>(in, out, 4); });
  p.kernel<float>("mix_sixteen", SMS * 1024, floats, [=] { mix_sixteen<<<SMS * 4, 256>>>(in, out, 4); });
  p.set(1e-2);
  p.kernel<float>("interpret_cases", SMS * 1024, floats, [=] { interpret_cases<<<SMS * 2, 512>>>(in, out, 64); });
  p.kernel<float>("interpret_table", SMS * 1024, floats, [=] { interpret_table<<<SMS * 2, 512>>>(in, out, 64); });
  return p.end();
}
