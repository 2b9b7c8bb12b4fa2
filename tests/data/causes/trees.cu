// Kernels whose blocks make one value of what their threads hold in each turn of a loop, by a tree with barriers, each beside one that
// differs by that alone.
#include "program.cuh"

constexpr unsigned ALL_LANES = ~0u;

__device__ __forceinline__ float sum_of_warp(float v) {
  for (int step = 16; step; step /= 2) v += __shfl_xor_sync(ALL_LANES, v, step);
  return v;
}

// ---- sums of long rows: a tree in each turn, whose last steps a warp makes by shuffles, then one sum a thread and one tree

template <bool ONCE>
__device__ __forceinline__ void sum_rows(const float* __restrict__ in, float* __restrict__ out, int length) {
  __shared__ float held[512];
  int t = threadIdx.x;
  const float* row = in + blockIdx.x * size_t(length);
  float own = 0, sum = 0;
#pragma unroll 1
  for (int i = t; i < length; i += blockDim.x) {
    own += row[i];
    if (ONCE && i + blockDim.x < length) continue;
    held[t] = own;
    own = 0;
    __syncthreads();  // <- rows_in_turns
#pragma unroll 1
    for (int half = blockDim.x / 2; half >= 32; half /= 2) {
      if (t < half) held[t] += held[t + half];  // <- rows_in_turns
      __syncthreads();                          // <- rows_in_turns
    }
    if (t < 32) sum += sum_of_warp(held[t]);
    __syncthreads();  // <- rows_in_turns
  }
  if (t == 0) out[blockIdx.x] = sum;
}

__global__ void rows_in_turns(const float* in, float* out, int length) { sum_rows<false>(in, out, length); }
__global__ void rows_at_once(const float* in, float* out, int length) { sum_rows<true>(in, out, length); }

// ---- the light of stars in an image, weighted by a profile: a block for each of its 32 stars in turn, then a warp

constexpr int STARS = 32, WIDE = 32, IMAGE = 4096;

__device__ __forceinline__ float light(const float* __restrict__ image, const float* __restrict__ profile, int2 star, int y) {
  int x = threadIdx.x % WIDE;
  return image[(star.y + y) * IMAGE + star.x + x] * profile[y * WIDE + x];
}

__global__ void stars_by_block(const float* __restrict__ image, const float* __restrict__ profile, float* __restrict__ out) {
  __shared__ int2 stars[STARS];
  __shared__ float held[256];
  int t = threadIdx.x;
  if (t < STARS) {
    unsigned place = hashed(blockIdx.x * STARS + t, 3);
    stars[t] = make_int2(place % (IMAGE - WIDE), (place >> 12) % (IMAGE - WIDE));
  }
  __syncthreads();
#pragma unroll 1
  for (int k = 0; k < STARS; ++k) {
    int2 star = stars[k];
    float sum = 0;
#pragma unroll
    for (int j = 0; j < WIDE; j += 256 / WIDE) sum += light(image, profile, star, t / WIDE + j);
    held[t] = sum;
    __syncthreads();  // <- stars_by_block
    for (int half = 128; half; half /= 2) {
      if (t < half) held[t] += held[t + half];  // <- stars_by_block
      __syncthreads();                          // <- stars_by_block
    }
    if (t == 0) out[blockIdx.x * STARS + k] = held[0];
  }
}

__global__ void stars_by_warp(const float* __restrict__ image, const float* __restrict__ profile, float* __restrict__ out) {
  __shared__ int2 stars[STARS];
  int t = threadIdx.x;
  if (t < STARS) {
    unsigned place = hashed(blockIdx.x * STARS + t, 3);
    stars[t] = make_int2(place % (IMAGE - WIDE), (place >> 12) % (IMAGE - WIDE));
  }
  __syncthreads();
#pragma unroll 1
  for (int k = t / 32; k < STARS; k += 256 / 32) {
    int2 star = stars[k];
    float sum = 0;
#pragma unroll
    for (int y = 0; y < WIDE; ++y) sum += light(image, profile, star, y);
    sum = sum_of_warp(sum);
    if (t % 32 == 0) out[blockIdx.x * STARS + k] = sum;
  }
}

// ---- points of a cloud, each the farthest from those before it, so that each turn needs the result of the last one: a tree of ten
// steps, then shuffles in warps and one step over them

__device__ __forceinline__ float2 farther(float2 a, float2 b) { return b.x > a.x || (b.x == a.x && b.y < a.y) ? b : a; }

template <bool BY_WARPS>
__device__ __forceinline__ void spread(const float4* __restrict__ in, float* __restrict__ out, int count) {
  __shared__ float2 held[1024];  // a distance, and whose it is
  int t = threadIdx.x, last = 0;
  const float4* cloud = in + blockIdx.x * 1024;
  float4 own = cloud[t];
  float nearest = 1e10f;
#pragma unroll 1
  for (int k = 0; k < count; ++k) {
    float4 other = cloud[last];
    float x = own.x - other.x, y = own.y - other.y, z = own.z - other.z;
    nearest = fminf(nearest, x * x + y * y + z * z);
    float2 best = make_float2(nearest, t);
    if (BY_WARPS) {
      for (int step = 16; step; step /= 2)
        best = farther(best, make_float2(__shfl_xor_sync(ALL_LANES, best.x, step), __shfl_xor_sync(ALL_LANES, best.y, step)));
      if (t % 32 == 0) held[k % 2 * 32 + t / 32] = best;
      __syncthreads();
      best = held[k % 2 * 32 + t % 32];
      for (int step = 16; step; step /= 2)
        best = farther(best, make_float2(__shfl_xor_sync(ALL_LANES, best.x, step), __shfl_xor_sync(ALL_LANES, best.y, step)));
    } else {
      held[t] = best;
      __syncthreads();  // <- spread_tree
      for (int half = 512; half; half /= 2) {
        if (t < half) held[t] = farther(held[t], held[t + half]);  // <- spread_tree
        __syncthreads();                                           // <- spread_tree
      }
      best = held[0];
      __syncthreads();  // <- spread_tree
    }
    last = int(best.y);
    if (t == 0) out[blockIdx.x * count + k] = last;
  }
}

__global__ void spread_tree(const float4* in, float* out, int count) { spread<false>(in, out, count); }
__global__ void spread_warps(const float4* in, float* out, int count) { spread<true>(in, out, count); }

int main(int argc, char** argv) {
  Program p(argc, argv);
  float *in = p.in<float>(), *out = p.out<float>(), *more = p.more<float>();
  auto floats = [=] { fill_uniform(in, 1 << 26, 1); };

  constexpr int ROWS = SMS * 32, LENGTH = 8192;
  p.set(1e-4);
  p.kernel<float>("rows_in_turns", ROWS, floats, [=] { rows_in_turns<<<ROWS, 512>>>(in, out, LENGTH); });
  p.kernel<float>("rows_at_once", ROWS, floats, [=] { rows_at_once<<<ROWS, 512>>>(in, out, LENGTH); });

  auto both = [=] {
    floats();
    fill_uniform(more, WIDE * WIDE, 2);
  };
  constexpr int SKY = SMS * 64;
  p.set(1e-4);
  p.kernel<float>("stars_by_block", SKY * STARS, both, [=] { stars_by_block<<<SKY, 256>>>(in, more, out); });
  p.kernel<float>("stars_by_warp", SKY * STARS, both, [=] { stars_by_warp<<<SKY, 256>>>(in, more, out); });

  const float4* points = p.in<float4>();
  p.set();
  p.kernel<float>("spread_tree", SMS * 4 * 256, floats, [=] { spread_tree<<<SMS * 4, 1024>>>(points, out, 256); });
  p.kernel<float>("spread_warps", SMS * 4 * 256, floats, [=] { spread_warps<<<SMS * 4, 1024>>>(points, out, 256); });
  return p.end();
}
