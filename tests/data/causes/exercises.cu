// Kernels written after the diagnosis had been changed for the others, to see how it does on what it has not been changed for.
#include "program.cuh"

// ---- pixels blurred with weights of exponentials: computed for each tap, then looked up

__constant__ float blur_weights[32];

__global__ void blur_computed(const float* __restrict__ in, float* __restrict__ out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float sum = 0;
#pragma unroll 1
  for (int k = 0; k < 31; ++k) sum += expf(-(k - 15.0f) * (k - 15.0f) / 50.0f) * in[i + k];  // <- blur_computed
  out[i] = sum;
}

__global__ void blur_looked_up(const float* __restrict__ in, float* __restrict__ out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float sum = 0;
#pragma unroll 1
  for (int k = 0; k < 31; ++k) sum += blur_weights[k] * in[i + k];
  out[i] = sum;
}

// ---- a picture turned upside down, byte by byte, then 16 bytes at once

__global__ void flip_bytes(const unsigned char* __restrict__ in, unsigned char* __restrict__ out, int width, int height) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  if (x < width) out[size_t(height - 1 - y) * width + x] = 255 - in[size_t(y) * width + x];  // <- flip_bytes
}

__global__ void flip_vectors(const uint4* __restrict__ in, uint4* __restrict__ out, int width, int height) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  if (x >= width) return;
  uint4 v = in[size_t(y) * width + x];
  out[size_t(height - 1 - y) * width + x] = make_uint4(~v.x, ~v.y, ~v.z, ~v.w);
}

// ---- the lengths of vectors: as triples, then as planes

__global__ void lengths_triples(const float3* __restrict__ in, float* __restrict__ out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float3 v = in[i];  // <- lengths_triples
  out[i] = sqrtf(v.x * v.x + v.y * v.y + v.z * v.z);
}

__global__ void lengths_planes(const float* __restrict__ in, float* __restrict__ out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float x = in[i], y = in[i + n], z = in[i + 2 * n];
  out[i] = sqrtf(x * x + y * y + z * z);
}

// ---- four ways to advance a particle, by its number, then by its warp

__device__ __forceinline__ float advance(float v, int kind) {
#pragma unroll 1
  for (int k = 0; k < 64; ++k) {
    switch (kind) {  // <- advance_mixed
      case 0: v = v * 0.99f + 0.01f; break;
      case 1: v = v - 0.1f * v * v; break;
      case 2: v = 0.5f * (v + 1.0f / (v + 1.0f)); break;
      default: v = sqrtf(v * v + 0.5f) * 0.8f;  // <- advance_mixed
    }
  }
  return v;
}

__global__ void advance_mixed(const float* __restrict__ in, float* __restrict__ out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = advance(in[i], i & 3);
}

__global__ void advance_sorted(const float* __restrict__ in, float* __restrict__ out, int n) {
  int t = blockIdx.x * blockDim.x + threadIdx.x, part = n / 4, kind = t / part, i = t % part * 4 + kind;
  out[i] = advance(in[i], kind);
}

// ---- keys looked up in a hash table of any size, then of a power of two

__global__ void probe_any(const unsigned* __restrict__ keys, const unsigned* __restrict__ table, unsigned* __restrict__ out, unsigned size, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned sum = 0, key = keys[i];
#pragma unroll 1
  for (int k = 0; k < 16; ++k) {
    key = key * 747796405u + 2891336453u;
    sum += table[key % size];  // <- probe_any
  }
  out[i] = sum;
}

__global__ void probe_power(const unsigned* __restrict__ keys, const unsigned* __restrict__ table, unsigned* __restrict__ out, unsigned mask, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned sum = 0, key = keys[i];
#pragma unroll 1
  for (int k = 0; k < 16; ++k) {
    key = key * 747796405u + 2891336453u;
    sum += table[key & mask];
  }
  out[i] = sum;
}

// ---- rows divided by their sums: a tree with a barrier for each step, then shuffles

__global__ void shares_tree(const float* __restrict__ in, float* __restrict__ out) {
  __shared__ float s[256];
  int t = threadIdx.x;
  size_t i = blockIdx.x * size_t(256) + t;
  float v = in[i];
  s[t] = v;
  for (int step = 128; step; step /= 2) {
    __syncthreads();  // <- shares_tree
    if (t < step) s[t] += s[t + step];  // <- shares_tree
  }
  __syncthreads();  // <- shares_tree
  out[i] = v / s[0];
}

__global__ void shares_warps(const float* __restrict__ in, float* __restrict__ out) {
  __shared__ float s[8];
  int t = threadIdx.x;
  size_t i = blockIdx.x * size_t(256) + t;
  float v = in[i], sum = v;
  for (int step = 16; step; step /= 2) sum += __shfl_xor_sync(~0u, sum, step);
  if (t % 32 == 0) s[t / 32] = sum;
  __syncthreads();
  sum = 0;
  for (int k = 0; k < 8; ++k) sum += s[k];
  out[i] = v / sum;
}

// ---- one recurrence a thread with few warps, then four in turn

template <int CHAINS>
__device__ __forceinline__ void step_maps(float* __restrict__ out, int n, int steps) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
#pragma unroll 1
  for (int first = i; first < n; first += CHAINS * gridDim.x * blockDim.x) {
    float v[CHAINS];
#pragma unroll
    for (int c = 0; c < CHAINS; ++c) v[c] = uniform(first + c * gridDim.x * blockDim.x, 5);
#pragma unroll 8
    for (int k = 0; k < steps; ++k)
#pragma unroll
      for (int c = 0; c < CHAINS; ++c) v[c] = 3.5f * v[c] * (1.0f - v[c]);  // <- maps_one
#pragma unroll
    for (int c = 0; c < CHAINS; ++c) out[first + c * gridDim.x * blockDim.x] = v[c];
  }
}

__global__ void maps_one(float* out, int n, int steps) { step_maps<1>(out, n, steps); }
__global__ void maps_four(float* out, int n, int steps) { step_maps<4>(out, n, steps); }

// ---- a polynomial of rows by blocks that take a whole SM each: a few more than fill the GPU, then smaller ones

__global__ void smoothed(const float* __restrict__ in, float* __restrict__ out, int each) {
  for (int i = threadIdx.x; i < each; i += blockDim.x) {
    float v = in[size_t(blockIdx.x) * each + i];
#pragma unroll 16
    for (int k = 0; k < 256; ++k) v = v * 0.9f + 0.05f;
    out[size_t(blockIdx.x) * each + i] = v;
  }
}

int main(int argc, char** argv) {
  Program p(argc, argv);
  float *in = p.in<float>(), *out = p.out<float>();
  auto nothing = [] {};
  auto floats = [=](size_t n) { return [=] { fill_uniform(in, n, 1); }; };

  constexpr int PIXELS = 16 << 20;
  auto weighted = [=] {
    float weights[32];
    for (int k = 0; k < 32; ++k) weights[k] = std::exp(-(k - 15.0f) * (k - 15.0f) / 50.0f);
    CHECK(cudaMemcpyToSymbol(blur_weights, weights, sizeof weights));
    fill_uniform(in, PIXELS + 32, 1);
  };
  p.set(1e-4);
  p.kernel<float>("blur_computed", PIXELS, weighted, [=] { blur_computed<<<PIXELS / 256, 256>>>(in, out, PIXELS); });
  p.kernel<float>("blur_looked_up", PIXELS, weighted, [=] { blur_looked_up<<<PIXELS / 256, 256>>>(in, out, PIXELS); });

  using Byte = unsigned char;
  auto picture = [&] { fill(p.in<unsigned>(), 8192 * 2048, [] __device__(size_t i) { return hashed(static_cast<unsigned>(i), 1); }); };
  p.set();
  p.kernel<Byte>("flip_bytes", 8192 * 8192, picture, [&] { flip_bytes<<<dim3(32, 8192), 256>>>(p.in<Byte>(), p.out<Byte>(), 8192, 8192); });
  p.kernel<Byte>("flip_vectors", 8192 * 8192, picture, [&] { flip_vectors<<<dim3(2, 8192), 256>>>(p.in<uint4>(), p.out<uint4>(), 512, 8192); });

  constexpr int VECTORS = 24 << 20;
  auto planes = [=] { fill(in, size_t(VECTORS) * 3, [] __device__(size_t i) { return uniform(static_cast<unsigned>(i % VECTORS * 3 + i / VECTORS), 1); }); };
  p.set(1e-5);
  p.kernel<float>("lengths_triples", VECTORS, floats(size_t(VECTORS) * 3), [&] { lengths_triples<<<VECTORS / 256, 256>>>(p.in<float3>(), out, VECTORS); });
  p.kernel<float>("lengths_planes", VECTORS, planes, [=] { lengths_planes<<<VECTORS / 256, 256>>>(in, out, VECTORS); });

  constexpr int PARTICLES = 8 << 20;
  p.set(1e-4);
  p.kernel<float>("advance_mixed", PARTICLES, floats(PARTICLES), [=] { advance_mixed<<<PARTICLES / 256, 256>>>(in, out, PARTICLES); });
  p.kernel<float>("advance_sorted", PARTICLES, floats(PARTICLES), [=] { advance_sorted<<<PARTICLES / 256, 256>>>(in, out, PARTICLES); });

  constexpr int KEYS = 8 << 20, TABLE = 4096;
  auto keyed = [&] {
    fill(p.in<unsigned>(), KEYS, [] __device__(size_t i) { return hashed(static_cast<unsigned>(i), 1); });
    fill(p.more<unsigned>(), TABLE, [] __device__(size_t i) { return hashed(static_cast<unsigned>(i), 2); });
  };
  p.set();
  p.kernel<unsigned>("probe_any", KEYS, keyed, [&] { probe_any<<<KEYS / 256, 256>>>(p.in<unsigned>(), p.more<unsigned>(), p.out<unsigned>(), TABLE, KEYS); });
  p.kernel<unsigned>("probe_power", KEYS, keyed, [&] { probe_power<<<KEYS / 256, 256>>>(p.in<unsigned>(), p.more<unsigned>(), p.out<unsigned>(), TABLE - 1, KEYS); });

  p.set(1e-5);
  p.kernel<float>("shares_tree", 8 << 20, floats(8 << 20), [=] { shares_tree<<<32768, 256>>>(in, out); });
  p.kernel<float>("shares_warps", 8 << 20, floats(8 << 20), [=] { shares_warps<<<32768, 256>>>(in, out); });

  constexpr int MAPS = SMS * 128 * 16;
  p.set(2);  // chaotic: only that there are values
  p.kernel<float>("maps_one", MAPS, nothing, [=] { maps_one<<<SMS, 128>>>(out, MAPS, 4096); });
  p.kernel<float>("maps_four", MAPS, nothing, [=] { maps_four<<<SMS, 128>>>(out, MAPS, 4096); });

  constexpr int EACH = 1 << 14;
  p.set(1e-5);
  p.kernel<float>("smoothed-280", 280 * EACH, floats(280 * EACH), [=] { smoothed<<<280, 1024>>>(in, out, EACH); });
  p.kernel<float>("smoothed-4480", 280 * EACH, floats(280 * EACH), [=] { smoothed<<<4480, 1024>>>(in, out, EACH / 16); });
  return p.end();
}
