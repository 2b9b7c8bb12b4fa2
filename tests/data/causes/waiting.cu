// Kernels whose warps wait for what could have come sooner, each beside one that differs by that alone.
#include "program.cuh"

// ---- one block on each SM sums a long array: a load a turn, then eight

__global__ void sum_one_load(const float* __restrict__ in, float* __restrict__ out, int n) {
  float sum = 0;
#pragma unroll 1
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += in[i];  // <- sum_one_load
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

__global__ void sum_eight_loads(const float* __restrict__ in, float* __restrict__ out, int n) {
  float sum = 0;
  int step = gridDim.x * blockDim.x;
#pragma unroll 1
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += 8 * step) {
    float v[8];
#pragma unroll
    for (int k = 0; k < 8; ++k) v[k] = i + k * step < n ? in[i + k * step] : 0;
#pragma unroll
    for (int k = 0; k < 8; ++k) sum += v[k];
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

// ---- scaling in place of many rows: pointers that may overlap hold each load behind a store, then they may not

__global__ void scale_may_overlap(const float* in, float* out, int n, int rows) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
#pragma unroll 8
  for (int k = 0; k < rows; ++k) out[size_t(k) * n + i] = in[size_t(k) * n + i] * 1.5f + 0.5f;  // <- scale_may_overlap
}

__global__ void scale_apart(const float* __restrict__ in, float* __restrict__ out, int n, int rows) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
#pragma unroll 8
  for (int k = 0; k < rows; ++k) out[size_t(k) * n + i] = in[size_t(k) * n + i] * 1.5f + 0.5f;
}

// ---- binary search in a table that the L2 holds: one search at a time, then four

__device__ __forceinline__ int before(const float* __restrict__ table, float x) {
  int low = 0;
#pragma unroll 1
  for (int half = 1 << 21; half; half /= 2)
    if (table[low + half - 1] < x) low += half;  // <- search_one
  return low;
}

__global__ void search_one(const float* __restrict__ table, const float* __restrict__ in, int* __restrict__ out, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) out[i] = before(table, in[i]);
}

__global__ void search_four(const float* __restrict__ table, const float* __restrict__ in, int* __restrict__ out, int n) {
  int step = gridDim.x * blockDim.x;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += 4 * step) {
    float x[4];
    int low[4] = {};
#pragma unroll
    for (int k = 0; k < 4; ++k) x[k] = in[min(i + k * step, n - 1)];
#pragma unroll 1
    for (int half = 1 << 21; half; half /= 2) {
      float at[4];
#pragma unroll
      for (int k = 0; k < 4; ++k) at[k] = table[low[k] + half - 1];
#pragma unroll
      for (int k = 0; k < 4; ++k) low[k] += at[k] < x[k] ? half : 0;
    }
#pragma unroll
    for (int k = 0; k < 4; ++k)
      if (i + k * step < n) out[i + k * step] = low[k];
  }
}

// ---- a dot product by each of a few warps: one sum, then four

__global__ void dot_one_sum(const float* __restrict__ in, float* __restrict__ out, int rounds) {
  __shared__ __align__(16) float a[1024];
  for (int i = threadIdx.x; i < 1024; i += 128) a[i] = in[i];
  __syncthreads();
  float x = in[blockIdx.x * 128 + threadIdx.x], sum = 0;
#pragma unroll 1
  for (int round = 0; round < rounds; ++round)
#pragma unroll 16
    for (int k = 0; k < 1024; ++k) sum += a[k] * x;  // <- dot_one_sum
  out[blockIdx.x * 128 + threadIdx.x] = sum;
}

__global__ void dot_four_sums(const float* __restrict__ in, float* __restrict__ out, int rounds) {
  __shared__ __align__(16) float a[1024];
  for (int i = threadIdx.x; i < 1024; i += 128) a[i] = in[i];
  __syncthreads();
  float x = in[blockIdx.x * 128 + threadIdx.x], sum[4] = {};
#pragma unroll 1
  for (int round = 0; round < rounds; ++round)
#pragma unroll 4
    for (int k = 0; k < 1024; k += 4)
#pragma unroll
      for (int j = 0; j < 4; ++j) sum[j] += a[k + j] * x;
  out[blockIdx.x * 128 + threadIdx.x] = sum[0] + sum[1] + sum[2] + sum[3];
}

// ---- paths of a random walk, each a chain: one a thread, then four a thread on as many warps

__device__ __forceinline__ void step(unsigned& state, float& at) {
  state = state * 1664525u + 1013904223u;
  at = at * 0.999f + static_cast<int>(state >> 9) * 1.1920929e-7f;
}

__global__ void walk_one(float* __restrict__ out, int paths, int steps) {
  for (int path = blockIdx.x * blockDim.x + threadIdx.x; path < paths; path += gridDim.x * blockDim.x) {
    unsigned state = path;
    float at = 0;
#pragma unroll 4
    for (int k = 0; k < steps; ++k) step(state, at);  // <- walk_one
    out[path] = at;
  }
}

__global__ void walk_four(float* __restrict__ out, int paths, int steps) {
  int stride = gridDim.x * blockDim.x;
  for (int path = blockIdx.x * blockDim.x + threadIdx.x; path < paths; path += 4 * stride) {
    unsigned state[4];
    float at[4] = {};
    for (int j = 0; j < 4; ++j) state[j] = path + j * stride;
#pragma unroll 4
    for (int k = 0; k < steps; ++k)
#pragma unroll
      for (int j = 0; j < 4; ++j) step(state[j], at[j]);
    for (int j = 0; j < 4; ++j) out[path + j * stride] = at[j];
  }
}

// ---- the largest of each row of 1,024: a tree with ten barriers, then by warps with one

__global__ void largest_tree(const float* __restrict__ in, float* __restrict__ out, int rows) {
  __shared__ float v[1024];
  for (int row = blockIdx.x; row < rows; row += gridDim.x) {
    v[threadIdx.x] = in[size_t(row) * 1024 + threadIdx.x];
    __syncthreads();  // <- largest_tree
    for (int half = 512; half; half /= 2) {
      if (threadIdx.x < half) v[threadIdx.x] = fmaxf(v[threadIdx.x], v[threadIdx.x + half]);
      __syncthreads();  // <- largest_tree
    }
    if (threadIdx.x == 0) out[row] = v[0];
    __syncthreads();  // <- largest_tree
  }
}

__global__ void largest_warps(const float* __restrict__ in, float* __restrict__ out, int rows) {
  int lane = threadIdx.x % 32;
  for (int row = blockIdx.x * 32 + threadIdx.x / 32; row < rows; row += gridDim.x * 32) {
    float v = in[size_t(row) * 1024 + lane];
#pragma unroll
    for (int k = 1; k < 32; ++k) v = fmaxf(v, in[size_t(row) * 1024 + k * 32 + lane]);
    for (int step = 16; step; step /= 2) v = fmaxf(v, __shfl_xor_sync(~0u, v, step));
    if (lane == 0) out[row] = v;
  }
}

// ---- steps of a wave that each thread keeps to itself: a barrier after each, then none

template <bool BARRIER>
__device__ __forceinline__ void swing(const float* __restrict__ in, float* __restrict__ out, int steps) {
  __shared__ float v[512];
  int i = blockIdx.x * 512 + threadIdx.x;
  v[threadIdx.x] = in[i];
  __syncthreads();
  float speed = 0;
#pragma unroll 1
  for (int k = 0; k < steps; ++k) {
    float at = v[threadIdx.x];
    if ((threadIdx.x / 32 + k) % 16 == 0)
      for (int j = 0; j < 16; ++j) at = __fsqrt_rn(at * at + 0.01f);  // one warp of sixteen refines
    speed = speed * 0.99f - 0.01f * at;
    v[threadIdx.x] = at + speed * 0.1f;
    if (BARRIER) __syncthreads();  // <- swing_together
  }
  out[i] = v[threadIdx.x];
}

__global__ void swing_together(const float* __restrict__ in, float* __restrict__ out, int steps) { swing<true>(in, out, steps); }
__global__ void swing_apart(const float* __restrict__ in, float* __restrict__ out, int steps) { swing<false>(in, out, steps); }

// ---- two causes: one load a turn and one long chain behind it

template <int LOADS, int CHAINS>
__device__ __forceinline__ void fold(const float* __restrict__ in, float* __restrict__ out, int n) {
  int step = gridDim.x * blockDim.x, i = blockIdx.x * blockDim.x + threadIdx.x;
  float sum[CHAINS] = {};
#pragma unroll 1
  for (; i < n; i += LOADS * step) {
    float v[LOADS];
#pragma unroll
    for (int k = 0; k < LOADS; ++k) v[k] = in[i + k * step];  // <- fold
#pragma unroll
    for (int k = 0; k < LOADS; ++k)
#pragma unroll
      for (int j = 0; j < 64; ++j) sum[j % CHAINS] = __fmaf_rn(v[k], 0.01f * j, sum[j % CHAINS]);  // <- fold_chain
  }
  float total = 0;
  for (int c = 0; c < CHAINS; ++c) total += sum[c];
  out[blockIdx.x * blockDim.x + threadIdx.x] = total;
}

__global__ void fold_both(const float* __restrict__ in, float* __restrict__ out, int n) { fold<1, 1>(in, out, n); }
__global__ void fold_chain(const float* __restrict__ in, float* __restrict__ out, int n) { fold<8, 1>(in, out, n); }
__global__ void fold_loads(const float* __restrict__ in, float* __restrict__ out, int n) { fold<1, 8>(in, out, n); }
__global__ void fold_neither(const float* __restrict__ in, float* __restrict__ out, int n) { fold<8, 8>(in, out, n); }

// ---- decoys

// Warps wait for loads nearly all of the time, and memory gives all that it has.
__global__ void triad(const float4* __restrict__ a, const float4* __restrict__ b, float4* __restrict__ c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float4 x = a[i], y = b[i];
  c[i] = make_float4(x.x + 3 * y.x, x.y + 3 * y.y, x.z + 3 * y.z, x.w + 3 * y.w);
}

// Each value is a chain of 256, but there are warps enough to fill the pipe.
__global__ void chain_of_many(const float* __restrict__ in, float* __restrict__ out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float x = in[i];
#pragma unroll 32
  for (int k = 0; k < 4096; ++k) x = __fmaf_rn(x, 0.999f, 0.5f);
  out[i] = x;
}

void nothing() {}

// ---- fold_both by sixteen times the blocks, which add their parts to the same results

__global__ void fold_both_blocks(const float* __restrict__ in, float* __restrict__ out, int n, int results) {
  int step = gridDim.x * blockDim.x, first = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0;
#pragma unroll 1
  for (int i = first; i < n; i += step) {
    float v = in[i];
#pragma unroll
    for (int j = 0; j < 64; ++j) sum = __fmaf_rn(v, 0.01f * j, sum);
  }
  atomicAdd(&out[first % results], sum);
}

int main(int argc, char** argv) {
  Program p(argc, argv);
  float *in = p.in<float>(), *out = p.out<float>(), *more = p.more<float>();
  auto floats = [=] { fill_uniform(in, 1 << 27, 1); };

  for (int n : {1 << 27, 1 << 24}) {
    bool small = n == 1 << 24;
    p.set(1e-3);
    int blocks = small ? SMS : SMS * 8;
    p.kernel<float>(small ? "sum_one_load-16M" : "sum_one_load", blocks * 256, floats, [=] { sum_one_load<<<blocks, 256>>>(in, out, n); });
    p.kernel<float>(small ? "sum_eight_loads-16M" : "sum_eight_loads", blocks * 256, floats, [=] { sum_eight_loads<<<blocks, 256>>>(in, out, n); });
  }

  constexpr int COLUMNS = SMS * 256, ROWS = 2048;
  p.set(1e-6);
  p.kernel<float>("scale_may_overlap", size_t(COLUMNS) * ROWS, floats, [=] { scale_may_overlap<<<SMS, 256>>>(in, out, COLUMNS, ROWS); });
  p.kernel<float>("scale_apart", size_t(COLUMNS) * ROWS, floats, [=] { scale_apart<<<SMS, 256>>>(in, out, COLUMNS, ROWS); });

  int* found = p.out<int>();
  auto sorted = [=] {
    fill_uniform(in, 1 << 22, 2);
    fill(more, 1 << 22, [=] __device__(size_t i) { return float(i) / (1 << 22); });
  };
  p.set();
  p.kernel<int>("search_one", 1 << 21, sorted, [=] { search_one<<<SMS * 4, 256>>>(more, in, found, 1 << 21); });
  p.kernel<int>("search_four", 1 << 21, sorted, [=] { search_four<<<SMS * 4, 256>>>(more, in, found, 1 << 21); });

  p.set(1e-3);
  p.kernel<float>("dot_one_sum", SMS * 128, floats, [=] { dot_one_sum<<<SMS, 128>>>(in, out, 64); });
  p.kernel<float>("dot_four_sums", SMS * 128, floats, [=] { dot_four_sums<<<SMS, 128>>>(in, out, 64); });

  constexpr int PATHS = SMS * 128 * 16;
  p.set(1e-3);
  p.kernel<float>("walk_one", PATHS, nothing, [=] { walk_one<<<SMS, 128>>>(out, PATHS, 4096); });
  p.kernel<float>("walk_four", PATHS, nothing, [=] { walk_four<<<SMS, 128>>>(out, PATHS, 4096); });

  p.set();
  p.kernel<float>("largest_tree", 1 << 17, floats, [=] { largest_tree<<<SMS * 2, 1024>>>(in, out, 1 << 17); });
  p.kernel<float>("largest_warps", 1 << 17, floats, [=] { largest_warps<<<SMS * 2, 1024>>>(in, out, 1 << 17); });

  p.set(1e-5);
  p.kernel<float>("swing_together", SMS * 8 * 512, floats, [=] { swing_together<<<SMS * 8, 512>>>(in, out, 512); });
  p.kernel<float>("swing_apart", SMS * 8 * 512, floats, [=] { swing_apart<<<SMS * 8, 512>>>(in, out, 512); });

  p.set(1e-3);
  p.set(1e-2);

  p.set(1e-2);
  constexpr int FOLDED = SMS * 128 * 8 * 256;
  auto folded = [=] { fill_uniform(in, FOLDED, 1); };
  p.kernel<float>("fold_both", SMS * 128, folded, [=] { fold_both<<<SMS, 128>>>(in, out, FOLDED); });
  p.kernel<float>("fold_chain", SMS * 128, folded, [=] { fold_chain<<<SMS, 128>>>(in, out, FOLDED); });
  p.kernel<float>("fold_loads", SMS * 128, folded, [=] { fold_loads<<<SMS, 128>>>(in, out, FOLDED); });
  p.kernel<float>("fold_neither", SMS * 128, folded, [=] { fold_neither<<<SMS, 128>>>(in, out, FOLDED); });

  auto both = [=] {
    floats();
    fill_uniform(more, 1 << 27, 2);
  };
  p.set();
  float4 *in4 = p.in<float4>(), *more4 = p.more<float4>(), *out4 = p.out<float4>();
  p.kernel<float>("triad", 1 << 27, both, [=] { triad<<<(1 << 25) / 256, 256>>>(in4, more4, out4, 1 << 25); });
  p.set();
  p.kernel<float>("chain_of_many", SMS * 8 * 1024, floats, [=] { chain_of_many<<<SMS * 8, 1024>>>(in, out); });

  p.set(1e-2);
  p.kernel<float>("fold_both-again", SMS * 128, folded, [=] { fold_both<<<SMS, 128>>>(in, out, FOLDED); });
  p.kernel<float>("fold_chain-again", SMS * 128, folded, [=] { fold_chain<<<SMS, 128>>>(in, out, FOLDED); });
  p.kernel<float>("fold_loads-again", SMS * 128, folded, [=] { fold_loads<<<SMS, 128>>>(in, out, FOLDED); });
  p.kernel<float>("fold_both_blocks", SMS * 128, folded, [=] { fold_both_blocks<<<SMS * 16, 128>>>(in, out, FOLDED, SMS * 128); });
  return p.end();
}
