// Kernels of which an SM holds fewer blocks than it would with a few registers less, each beside one that is limited to these.
#include "program.cuh"

constexpr int POINTS = 8192, DIMENSIONS = 256;  // an array holds the first dimension of all points, then the second, and so on
constexpr int TILE = 128, SLAB = 8, EACH = 8;   // a block of 16 x 16 threads computes 128 x 128 distances, each thread 8 x 8

// ---- the sums of absolute differences between all points of two sets: with the registers that the compiler likes, then with 128

__device__ __forceinline__ void distances(const float* __restrict__ left, const float* __restrict__ right, float* __restrict__ out) {
  __shared__ float4 lefts[SLAB][TILE / 4], rights[SLAB][TILE / 4];
  int t = threadIdx.x, x = t % 16, y = t / 16;
  const float4* from_left = reinterpret_cast<const float4*>(left + blockIdx.y * TILE) + t % 32;
  const float4* from_right = reinterpret_cast<const float4*>(right + blockIdx.x * TILE) + t % 32;
  float sums[EACH][EACH] = {};
  // A warp loads a dimension of 128 points of each set, and while one slab is used, the next is under way.
  float4 next_left = from_left[t / 32 * (POINTS / 4)], next_right = from_right[t / 32 * (POINTS / 4)];
  for (int d = 0; d < DIMENSIONS; d += SLAB) {
    lefts[t / 32][t % 32] = next_left;
    rights[t / 32][t % 32] = next_right;
    __syncthreads();
    if (d + SLAB < DIMENSIONS) {
      next_left = from_left[(d + SLAB + t / 32) * (POINTS / 4)];
      next_right = from_right[(d + SLAB + t / 32) * (POINTS / 4)];
    }
#pragma unroll
    for (int k = 0; k < SLAB; ++k) {
      float4 a[2] = {lefts[k][y], lefts[k][y + 16]}, b[2] = {rights[k][x], rights[k][x + 16]};
      const float *l = &a[0].x, *r = &b[0].x;
#pragma unroll
      for (int i = 0; i < EACH; ++i)
#pragma unroll
        for (int j = 0; j < EACH; ++j) sums[i][j] += fabsf(l[i] - r[j]);
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < EACH; ++i) {
    size_t row = blockIdx.y * TILE + i / 4 * 64 + y * 4 + i % 4;
    float4* to = reinterpret_cast<float4*>(out + row * POINTS + blockIdx.x * TILE);
    to[x] = make_float4(sums[i][0], sums[i][1], sums[i][2], sums[i][3]);
    to[x + 16] = make_float4(sums[i][4], sums[i][5], sums[i][6], sums[i][7]);
  }
}

__global__ void __launch_bounds__(256) distances_free(const float* __restrict__ left, const float* __restrict__ right, float* __restrict__ out) { distances(left, right, out); }
__global__ void __launch_bounds__(256, 2) distances_limited(const float* __restrict__ left, const float* __restrict__ right, float* __restrict__ out) { distances(left, right, out); }

int main(int argc, char** argv) {
  Program p(argc, argv);
  float *left = p.in<float>(), *right = p.more<float>(), *out = p.out<float>();
  auto floats = [=] {
    fill_uniform(left, POINTS * DIMENSIONS, 1);
    fill_uniform(right, POINTS * DIMENSIONS, 2);
  };
  dim3 grid(POINTS / TILE, POINTS / TILE);
  p.set(1e-5);
  p.kernel<float>("distances_free", size_t(POINTS) * POINTS, floats, [=] { distances_free<<<grid, 256>>>(left, right, out); });
  p.kernel<float>("distances_limited", size_t(POINTS) * POINTS, floats, [=] { distances_limited<<<grid, 256>>>(left, right, out); });
  return p.end();
}
