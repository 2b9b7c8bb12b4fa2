// Groups of values that are smaller than a warp, tiles that are unrolled whole, sums over a block in each turn of a loop, and a search.
#include "program.cuh"

// ---- groups of 16 values scaled by the largest of them: a warp for each group, half of whose lanes have no value, then a warp for two groups

constexpr int OF_GROUP = 16, GROUPS = 1 << 20;

__device__ __forceinline__ float level_of(float value, float largest) {
  float scaled = value / (largest + 1e-6f), level = 0;
#pragma unroll
  for (int k = 1; k < 8; ++k) level += fabsf(scaled) > k / 8.0f;
  return copysignf(level, scaled);
}

__global__ void groups_each(const float* __restrict__ in, float* __restrict__ out) {
  int lane = threadIdx.x % 32, warps = gridDim.x * blockDim.x / 32;
  for (int group = (blockIdx.x * blockDim.x + threadIdx.x) / 32; group < GROUPS; group += warps) {
    float value = lane < OF_GROUP ? in[group * OF_GROUP + lane] : 0;  // <- groups_each
    float largest = fabsf(value);
#pragma unroll
    for (int d = 16; d; d /= 2) largest = fmaxf(largest, __shfl_xor_sync(~0u, largest, d));
    float level = level_of(value, largest);
    if (lane < OF_GROUP) out[group * OF_GROUP + lane] = level;  // <- groups_each
  }
}

__global__ void groups_in_pairs(const float* __restrict__ in, float* __restrict__ out) {
  int lane = threadIdx.x % OF_GROUP, halves = gridDim.x * blockDim.x / OF_GROUP;
  for (int group = (blockIdx.x * blockDim.x + threadIdx.x) / OF_GROUP; group < GROUPS; group += halves) {
    float value = in[group * OF_GROUP + lane], largest = fabsf(value);
#pragma unroll
    for (int d = OF_GROUP / 2; d; d /= 2) largest = fmaxf(largest, __shfl_xor_sync(~0u, largest, d));
    out[group * OF_GROUP + lane] = level_of(value, largest);
  }
}

// ---- the widest way between any two towns by way of a third: a thread finds one, then eight in a column

constexpr int TOWNS = 2048, TILE = 32, COLUMN = 8;

__global__ void ways_each(const int* __restrict__ by, const int* __restrict__ on, int* __restrict__ out) {
  __shared__ int left[TILE][TILE], right[TILE][TILE];
  int x = threadIdx.x, y = threadIdx.y, at = (blockIdx.y * TILE + y) * TOWNS + blockIdx.x * TILE + x;
  left[y][x] = by[(blockIdx.y * TILE + y) * TILE + x];
  right[y][x] = on[y * TOWNS + blockIdx.x * TILE + x];
  __syncthreads();
  int best = out[at];
#pragma unroll
  for (int k = 0; k < TILE; ++k) best = max(best, left[y][k] + right[k][x]);  // <- ways_each
  out[at] = best;
}

__global__ void ways_columns(const int* __restrict__ by, const int* __restrict__ on, int* __restrict__ out) {
  __shared__ int left[TILE][TILE], right[TILE][TILE];
  int x = threadIdx.x, y = threadIdx.y * COLUMN;
#pragma unroll
  for (int r = 0; r < COLUMN; ++r) {
    left[y + r][x] = by[(blockIdx.y * TILE + y + r) * TILE + x];
    right[y + r][x] = on[(y + r) * TOWNS + blockIdx.x * TILE + x];
  }
  __syncthreads();
  int best[COLUMN];
  int* at = out + (blockIdx.y * TILE + y) * TOWNS + blockIdx.x * TILE + x;
#pragma unroll
  for (int r = 0; r < COLUMN; ++r) best[r] = at[r * TOWNS];
#pragma unroll
  for (int k = 0; k < TILE; ++k) {
    int value = right[k][x];
#pragma unroll
    for (int r = 0; r < COLUMN; ++r) best[r] = max(best[r], left[y + r][k] + value);
  }
#pragma unroll
  for (int r = 0; r < COLUMN; ++r) at[r * TOWNS] = best[r];
}

// ---- a mean vector weighted by each row of a matrix: the block adds up each row's products by a tree, then a warp takes each row

constexpr int LONG = 512, SETS = 264;

__device__ __forceinline__ float mean_of(const float* __restrict__ in, int at) {
  float sum = 0;
#pragma unroll 4
  for (int k = 0; k < 16; ++k) sum += in[(blockIdx.x * 16 + k) * LONG + at];
  return sum / 16;
}

__global__ void weigh_by_block(const float* __restrict__ in, const float* __restrict__ rows, float* __restrict__ out) {
  __shared__ float held[LONG];
  int t = threadIdx.x;
  held[t] = mean_of(in, LONG - 1 - t);
  __syncthreads();
  float mean = held[LONG - 1 - t];
  for (int row = 0; row < LONG; ++row) {
    __syncthreads();  // <- weigh_by_block
    held[t] = mean * rows[row * LONG + t];
    for (int half = LONG / 2; half; half /= 2) {
      __syncthreads();
      if (t < half) held[t] += held[t + half];
    }
    if (t == 0) out[blockIdx.x * LONG + row] = held[0];  // <- weigh_by_block
  }
}

__global__ void weigh_by_warps(const float* __restrict__ in, const float* __restrict__ rows, float* __restrict__ out) {
  __shared__ float held[LONG];
  int t = threadIdx.x, lane = t % 32;
  held[t] = mean_of(in, t);
  __syncthreads();
  float mean[LONG / 32];
#pragma unroll
  for (int k = 0; k < LONG / 32; ++k) mean[k] = held[k * 32 + lane];
  for (int row = t / 32; row < LONG; row += LONG / 32) {
    float sum = 0;
#pragma unroll
    for (int k = 0; k < LONG / 32; ++k) sum += mean[k] * rows[row * LONG + k * 32 + lane];
#pragma unroll
    for (int d = 16; d; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
    if (lane == 0) out[blockIdx.x * LONG + row] = sum;
  }
}

// ---- numbers whose digest ends in zeros are counted: all lanes digest, and few find something

constexpr int NUMBERS = 1 << 24;

__device__ __forceinline__ unsigned digest(unsigned number) {
  unsigned a = 0x6a09e667, b = number;
#pragma unroll
  for (int k = 0; k < 64; ++k) {
    unsigned mixed = a + (b ^ __funnelshift_l(a, a, 7)) + 0x9e3779b9u * k;
    a = b;
    b = __funnelshift_r(mixed, mixed, 11) ^ (a & mixed);
  }
  return a ^ b;
}

__global__ void search_digests(unsigned* __restrict__ found) {
  unsigned number = blockIdx.x * blockDim.x + threadIdx.x;
  if (digest(number) << 14 == 0) {
    atomicAdd(&found[0], 1);
    atomicXor(&found[1], number);
  }
}

int main(int argc, char** argv) {
  Program p(argc, argv);
  float *in = p.in<float>(), *more = p.more<float>(), *out = p.out<float>();
  auto values = [=] { fill_uniform(in, GROUPS * OF_GROUP, 1); };
  p.set();
  p.kernel<float>("groups_each", GROUPS * OF_GROUP, values, [=] { groups_each<<<SMS * 8, 256>>>(in, out); });
  p.kernel<float>("groups_in_pairs", GROUPS * OF_GROUP, values, [=] { groups_in_pairs<<<SMS * 8, 256>>>(in, out); });

  int *by = p.in<int>(), *on = p.more<int>(), *ways = p.out<int>();
  auto towns = [=] {
    fill(by, TOWNS * TILE, [] __device__(size_t i) { return int(hashed(unsigned(i), 2) % 1000); });
    fill(on, TOWNS * TILE, [] __device__(size_t i) { return int(hashed(unsigned(i), 3) % 1000); });
  };
  dim3 tiles(TOWNS / TILE, TOWNS / TILE);
  p.set();
  p.kernel<int>("ways_each", TOWNS * TOWNS, towns, [=] { ways_each<<<tiles, dim3(TILE, TILE)>>>(by, on, ways); });
  p.kernel<int>("ways_columns", TOWNS * TOWNS, towns, [=] { ways_columns<<<tiles, dim3(TILE, TILE / COLUMN)>>>(by, on, ways); });

  auto weights = [=] {
    fill_uniform(in, size_t(SETS) * 16 * LONG, 4);
    fill_uniform(more, LONG * LONG, 5);
  };
  p.set(1e-4);
  p.kernel<float>("weigh_by_block", SETS * LONG, weights, [=] { weigh_by_block<<<SETS, LONG>>>(in, more, out); });
  p.kernel<float>("weigh_by_warps", SETS * LONG, weights, [=] { weigh_by_warps<<<SETS, LONG>>>(in, more, out); });

  unsigned* found = p.out<unsigned>();
  p.set();
  p.kernel<int>("search_digests", 2, [] {}, [=] { search_digests<<<NUMBERS / 256, 256>>>(found); });
  return p.end();
}
