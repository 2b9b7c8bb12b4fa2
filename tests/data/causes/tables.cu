// Kernels that look values up in constant memory. Where lanes look at different places, the lookups of a warp are served one after the other.
#include "program.cuh"

// ---- brightness by a curve of 256 values, which each byte chooses: the curve in constant memory, then in shared memory

__constant__ float curve[256];

__global__ void tone_constant(const uchar4* __restrict__ in, float4* __restrict__ out, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    uchar4 v = in[i];
    out[i] = make_float4(curve[v.x], curve[v.y], curve[v.z], curve[v.w]);  // <- tone_constant
  }
}

__global__ void tone_shared(const uchar4* __restrict__ in, float4* __restrict__ out, int n) {
  __shared__ float own[256];
  own[threadIdx.x] = curve[threadIdx.x];
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    uchar4 v = in[i];
    out[i] = make_float4(own[v.x], own[v.y], own[v.z], own[v.w]);
  }
}

// ---- frames of a signal, weighed by a window: lanes read neighbouring weights, from constant or from global memory

__constant__ float window[256];

__global__ void weigh_constant(const float* __restrict__ in, float* __restrict__ out) {
  size_t i = blockIdx.x * size_t(256) + threadIdx.x;
  out[i] = in[i] * window[threadIdx.x];  // <- weigh_constant
}

__global__ void weigh_global(const float* __restrict__ in, const float* __restrict__ weights, float* __restrict__ out) {
  size_t i = blockIdx.x * size_t(256) + threadIdx.x;
  out[i] = in[i] * weights[threadIdx.x];
}

// ---- checksums of records of 64 bytes, with the usual table for each byte: in constant, then in shared memory

__constant__ unsigned remainders[256];

template <typename Table>
__device__ __forceinline__ unsigned checked(uint4 v, unsigned sum, const Table& table) {
  unsigned words[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
  for (int k = 0; k < 4; ++k)
#pragma unroll
    for (int byte = 0; byte < 4; ++byte) sum = table[(sum ^ words[k] >> 8 * byte) & 255] ^ sum >> 8;  // <- check_constant
  return sum;
}

__global__ void check_constant(const uint4* __restrict__ in, unsigned* __restrict__ out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned sum = ~0u;
#pragma unroll
  for (int k = 0; k < 4; ++k) sum = checked(in[k * n + i], sum, remainders);
  out[i] = ~sum;
}

__global__ void check_shared(const uint4* __restrict__ in, unsigned* __restrict__ out, int n) {
  __shared__ unsigned own[256];
  own[threadIdx.x] = remainders[threadIdx.x];
  __syncthreads();
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned sum = ~0u;
#pragma unroll
  for (int k = 0; k < 4; ++k) sum = checked(in[k * n + i], sum, own);
  out[i] = ~sum;
}

// ---- decoys: all lanes of a warp look at the same place, or at one of two beside memory that is full

__constant__ float taps[64][32];

// The place comes from memory, and from a loop of a length that is known only when it runs; but it is that of the whole block.
__global__ void filter_by_kind(const float* __restrict__ in, const int* __restrict__ kinds, float* __restrict__ out, int width, int count) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, kind = kinds[blockIdx.y];
  float sum = 0;
#pragma unroll 1
  for (int k = 0; k < count; ++k) sum += taps[kind][k] * in[blockIdx.y * width + x + k];
  out[blockIdx.y * width + x] = sum;
}

__global__ void scale_by_sign(const float4* __restrict__ in, float4* __restrict__ out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float4 v = __ldcs(in + i);
  float by = window[v.x < 0.001f];
  __stcs(out + i, make_float4(by * v.x, by * v.y, by * v.z, by * v.w));
}

int main(int argc, char** argv) {
  Program p(argc, argv);
  float *in = p.in<float>(), *out = p.out<float>(), *weights = p.more<float>();
  uchar4* bytes = p.in<uchar4>();
  uint4* records = p.in<uint4>();
  float4 *in4 = p.in<float4>(), *out4 = p.out<float4>();
  unsigned *words_in = p.in<unsigned>(), *sums = p.out<unsigned>();
  int* kinds = p.more<int>();
  auto tables = [=] {
    float one[256], many[64 * 32];
    unsigned rest[256];
    for (int k = 0; k < 256; ++k) {
      one[k] = 0.5f + uniform(k, 5);
      rest[k] = k;
      for (int bit = 0; bit < 8; ++bit) rest[k] = rest[k] & 1 ? rest[k] >> 1 ^ 0xedb88320u : rest[k] >> 1;
    }
    for (int k = 0; k < 64 * 32; ++k) many[k] = uniform(k, 6);
    CHECK(cudaMemcpyToSymbol(curve, one, sizeof one));
    CHECK(cudaMemcpyToSymbol(window, one, sizeof one));
    CHECK(cudaMemcpyToSymbol(remainders, rest, sizeof rest));
    CHECK(cudaMemcpyToSymbol(taps, many, sizeof many));
    CHECK(cudaMemcpy(weights, one, sizeof one, cudaMemcpyHostToDevice));
  };
  auto words = [=] {
    tables();
    fill(words_in, 1 << 25, [=] __device__(size_t i) { return hashed(unsigned(i), 1); });
  };
  auto floats = [=] {
    tables();
    fill_uniform(in, 1 << 27, 2);
  };
  for (bool large : {true, false}) {
    auto name = [=](const char* kernel, const char* small) { return std::string(kernel) + (large ? "" : small); };
    int pixels = large ? 1 << 25 : 1 << 21, frames = large ? 1 << 18 : 1 << 15, count = large ? 1 << 20 : 1 << 18;
    p.set();
    p.kernel<float>(name("tone_constant", "-2M").c_str(), size_t(pixels) * 4, words, [=] { tone_constant<<<SMS * 8, 256>>>(bytes, out4, pixels); });
    p.kernel<float>(name("tone_shared", "-2M").c_str(), size_t(pixels) * 4, words, [=] { tone_shared<<<SMS * 8, 256>>>(bytes, out4, pixels); });
    p.set();
    p.kernel<float>(name("weigh_constant", "-32K").c_str(), size_t(frames) * 256, floats, [=] { weigh_constant<<<frames, 256>>>(in, out); });
    p.kernel<float>(name("weigh_global", "-32K").c_str(), size_t(frames) * 256, floats, [=] { weigh_global<<<frames, 256>>>(in, weights, out); });
    p.set();
    p.kernel<unsigned>(name("check_constant", "-256K").c_str(), count, words, [=] { check_constant<<<count / 256, 256>>>(records, sums, count); });
    p.kernel<unsigned>(name("check_shared", "-256K").c_str(), count, words, [=] { check_shared<<<count / 256, 256>>>(records, sums, count); });
  }

  constexpr int WIDTH = 4096, ROWS = 2048;
  auto kinded = [=] {
    floats();
    fill(kinds, ROWS, [=] __device__(size_t i) { return int(hashed(unsigned(i), 7) % 64); });
  };
  p.set();
  p.kernel<float>("filter_by_kind", WIDTH * ROWS, kinded, [=] { filter_by_kind<<<dim3(WIDTH / 256, ROWS), 256>>>(in, kinds, out, WIDTH, 32); });
  p.set();
  p.kernel<float>("scale_by_sign", 1 << 27, floats, [=] { scale_by_sign<<<(1 << 25) / 256, 256>>>(in4, out4, 1 << 25); });
  return p.end();
}
