// Kernels that are slow for how they are launched or how they share their work, each beside one that differs by that alone.
#include "program.cuh"

constexpr int NODES = 1 << 18;  // of 128 bytes: 32 MB, which the L2 holds

// ---- sums of few long rows: a block for each, then 64 blocks for each

__global__ void long_rows(const float* __restrict__ in, float* __restrict__ out, int columns, int parts) {
  __shared__ float sums[8];
  size_t begin = blockIdx.x * size_t(columns) + blockIdx.y * size_t(columns / parts);  // <- long_rows
  float sum = 0;
#pragma unroll 4
  for (int i = threadIdx.x; i < columns / parts; i += 256) sum += in[begin + i];
  for (int step = 16; step; step /= 2) sum += __shfl_down_sync(~0u, sum, step);
  if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int k = 1; k < 8; ++k) sum += sums[k];
    atomicAdd(out + blockIdx.x, sum);
  }
}

// ---- a fractal: a picture in 24 blocks, then in 1,536

__global__ void fractal(float* __restrict__ out, int width, int each) {
  for (int k = 0; k < each; ++k) {  // <- fractal
    int i = (blockIdx.x * each + k) * blockDim.x + threadIdx.x;
    float cx = (i % width) * (3.0f / width) - 2, cy = i / width * (1.0f / width) + 0.2f, x = 0, y = 0;
#pragma unroll 4
    for (int j = 0; j < 256; ++j) {
      float t = fminf(x * x - y * y + cx, 4.0f);
      y = fminf(2 * x * y + cy, 4.0f);
      x = t;
    }
    out[i] = x;
  }
}

// ---- tiles of equal work: a few more than fit at once, then four times as many of a quarter

__global__ void __launch_bounds__(1024, 2) relax(const float* __restrict__ in, float* __restrict__ out) {  // <- relax
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float x = in[i], y = x, z = 1 - x;
#pragma unroll 8
  for (int k = 0; k < 2048; ++k) {
    y = y * 0.999f + x;
    z = z * 0.998f + y;
  }
  out[i] = y + z;
}

// ---- a triangle of pairs: each block takes rows beside each other, then rows apart

template <bool APART>
__device__ __forceinline__ void pairs_below(const float* __restrict__ in, float* __restrict__ out, int n) {
  int each = n / gridDim.x;
  for (int k = 0; k < each; ++k) {
    int row = APART ? k * gridDim.x + (k % 2 ? gridDim.x - 1 - blockIdx.x : blockIdx.x) : blockIdx.x * each + k;  // <- pairs_beside
    float x = in[row], sum = 0;
    for (int other = threadIdx.x; other < row; other += blockDim.x) sum += rsqrtf(fabsf(x - in[other]) + 0.01f);  // <- pairs_beside
    for (int step = 16; step; step /= 2) sum += __shfl_down_sync(~0u, sum, step);
    if (threadIdx.x % 32 == 0) atomicAdd(out + row, sum);
  }
}

__global__ void pairs_beside(const float* __restrict__ in, float* __restrict__ out, int n) { pairs_below<false>(in, out, n); }
__global__ void pairs_apart(const float* __restrict__ in, float* __restrict__ out, int n) { pairs_below<true>(in, out, n); }

// ---- a sparse matrix with a few long rows: a block for each eight rows, then pieces of equal length

__global__ void sparse_rows(const float* __restrict__ in, const int* __restrict__ begins, float* __restrict__ out, int rows) {
  int row = blockIdx.x * 8 + threadIdx.x / 32, lane = threadIdx.x % 32;
  if (row >= rows) return;
  float sum = 0;
  for (int i = begins[row] + lane; i < begins[row + 1]; i += 32) sum += in[i] * 0.5f;  // <- sparse_rows
  for (int step = 16; step; step /= 2) sum += __shfl_down_sync(~0u, sum, step);
  if (lane == 0) out[row] = sum;
}

__global__ void sparse_pieces(const float* __restrict__ in, const int* __restrict__ begins, float* __restrict__ out, int rows) {
  int row = blockIdx.x * 8 + threadIdx.x / 32, lane = threadIdx.x % 32;
  if (row >= rows) return;
  int from = begins[row], to = begins[row + 1], piece = (to - from + gridDim.y - 1) / gridDim.y;
  int begin = from + piece * blockIdx.y, end = min(begin + piece, to);
  if (begin >= end) return;
  float sum = 0;
  for (int i = begin + lane; i < end; i += 32) sum += in[i] * 0.5f;
  for (int step = 16; step; step /= 2) sum += __shfl_down_sync(~0u, sum, step);
  if (lane == 0) atomicAdd(out + row, sum);
}

// ---- a table of 4,096 entries brought into shared memory: for 256 pixels, then for 65,536

__global__ void map_pixels(const unsigned short* __restrict__ in, const float* __restrict__ table, float* __restrict__ out, int each) {
  __shared__ float entries[4096];
  for (int i = threadIdx.x; i < 4096; i += 256) entries[i] = table[i];  // <- map_pixels
  __syncthreads();
  size_t begin = blockIdx.x * size_t(each) * 256 + threadIdx.x;
#pragma unroll 4
  for (int k = 0; k < each; ++k) out[begin + k * 256] = entries[in[begin + k * 256] % 4096];
}

// ---- options priced: each thread makes the parameters of its market and prices one, then sixteen

__global__ void price(const float* __restrict__ strikes, const float* __restrict__ market, float* __restrict__ out, int each) {
  float level = 0;
#pragma unroll 1
  for (int k = 0; k < 64; ++k) level += __expf(-market[k]) * __logf(1 + market[k]);  // <- price
  size_t begin = blockIdx.x * size_t(each) * 256 + threadIdx.x;
#pragma unroll 4
  for (int k = 0; k < each; ++k) out[begin + k * 256] = fmaxf(level * 0.1f - strikes[begin + k * 256], 0.0f) + 0.5f;
}

// ---- lists of nodes of 128 bytes in the L2, a list for each warp: blocks of 32, of 704, of 256; with a tile that is too large

__device__ __forceinline__ void walk(const int* __restrict__ nodes, int* __restrict__ out, int steps) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  int at = i / 32 * 40503u % NODES, sum = 0;
#pragma unroll 1
  for (int k = 0; k < steps; ++k) {
    int value = nodes[at * 32 + i % 32];  // <- walk
    sum += value;
    at = __shfl_sync(~0u, value, 0);
  }
  out[i] = sum;
}

__global__ void walk_nodes(const int* __restrict__ nodes, int* __restrict__ out, int steps) { walk(nodes, out, steps); }

__global__ void __launch_bounds__(256) walk_with_tile(const int* __restrict__ nodes, int* __restrict__ out, int steps) {
  extern __shared__ int tile[];
  tile[threadIdx.x] = threadIdx.x;
  walk(nodes, out, steps);
}

// ---- the same, each node weighed by 128 weights: in registers, then in constant memory

__constant__ float constant_weights[128];

__global__ void __launch_bounds__(128) weigh_registers(const int* __restrict__ nodes, const float* __restrict__ weights, float* __restrict__ out, int steps) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, at = i / 32 % NODES;
  float w[128], sum[4] = {};
#pragma unroll
  for (int k = 0; k < 128; ++k) w[k] = weights[k];  // <- weigh_registers
#pragma unroll 1
  for (int step = 0; step < steps; ++step) {
    int value = nodes[at * 32 + i % 32];  // <- weigh_registers
    float x = value * 1e-9f;
    at = __shfl_sync(~0u, value, 0);
#pragma unroll
    for (int k = 0; k < 128; ++k) sum[k % 4] += w[k] * x;  // <- weigh_registers
  }
  out[i] = sum[0] + sum[1] + sum[2] + sum[3];
}

__global__ void __launch_bounds__(128) weigh_constants(const int* __restrict__ nodes, float* __restrict__ out, int steps) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, at = i / 32 % NODES;
  float sum[4] = {};
#pragma unroll 1
  for (int step = 0; step < steps; ++step) {
    int value = nodes[at * 32 + i % 32];
    float x = value * 1e-9f;
    at = __shfl_sync(~0u, value, 0);
#pragma unroll
    for (int k = 0; k < 128; ++k) sum[k % 4] += constant_weights[k] * x;
  }
  out[i] = sum[0] + sum[1] + sum[2] + sum[3];
}

// ---- two pictures blended, a value a thread: blocks of 32, of 256

__global__ void blend(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ out) {  // <- blend
  size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x;
  out[i] = a[i] + 0.25f * (b[i] - a[i]);  // <- blend
}

// ---- two causes: blocks of 32 and 7 KB of shared memory for each, of which little is used

__global__ void walk_small_blocks(const int* __restrict__ nodes, int* __restrict__ out, int steps) {
  extern __shared__ int tile[];
  tile[threadIdx.x] = threadIdx.x;
  walk(nodes, out, steps);
}

// ---- small vectors scaled: one launch for each of 64, then one for all

__global__ void scale_small(const float* __restrict__ in, float* __restrict__ out, int n) {  // <- scale_small
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i] * 1.5f;
}

__global__ void scale_all(const float* __restrict__ in, float* __restrict__ out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i] * 1.5f;
}

// ---- small products of 32 x 32: a launch for each of 64, then one for all

__global__ void product_small(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c) {  // <- product_small
  __shared__ float as[32][32], bs[32][33];
  size_t at = blockIdx.x * size_t(1024);
  as[threadIdx.y][threadIdx.x] = a[at + threadIdx.y * 32 + threadIdx.x];
  bs[threadIdx.y][threadIdx.x] = b[at + threadIdx.y * 32 + threadIdx.x];
  __syncthreads();
  float sum = 0;
#pragma unroll
  for (int k = 0; k < 32; ++k) sum += as[threadIdx.y][k] * bs[k][threadIdx.x];
  c[at + threadIdx.y * 32 + threadIdx.x] = sum;
}

// ---- decoys

// Eight warps on each SM, each with eight chains: few warps, and the pipe is full.
__global__ void __launch_bounds__(256) few_warps(const float* __restrict__ in, float* __restrict__ out) {
  extern __shared__ float values[];
  int i = blockIdx.x * 256 + threadIdx.x;
  values[threadIdx.x] = in[i];
  float x[8];
  for (int j = 0; j < 8; ++j) x[j] = values[threadIdx.x] + j;
#pragma unroll 8
  for (int k = 0; k < 16384; ++k)
    for (int j = 0; j < 8; ++j) x[j] = __fmaf_rn(x[j], 0.999f, 0.5f);
  float sum = 0;
  for (int j = 0; j < 8; ++j) sum += x[j];
  out[i] = sum;
}

// One block on each SM, and memory gives all that it has.
__global__ void __launch_bounds__(1024) copy_persistent(const float4* __restrict__ in, float4* __restrict__ out, int n) {
  int step = gridDim.x * blockDim.x, i = blockIdx.x * blockDim.x + threadIdx.x;
  for (; i + 3 * step < n; i += 4 * step) {
    float4 v[4];
#pragma unroll
    for (int k = 0; k < 4; ++k) v[k] = __ldcs(in + i + k * step);
#pragma unroll
    for (int k = 0; k < 4; ++k) __stcs(out + i + k * step, v[k]);
  }
  for (; i < n; i += step) out[i] = in[i];
}

// ---- walk_nodes, with four lists for each warp to follow side by side

__global__ void walk_nodes_four(const int* __restrict__ nodes, int* __restrict__ out, int steps) {
  unsigned threads = gridDim.x * blockDim.x, i = blockIdx.x * blockDim.x + threadIdx.x;
  int at[4], sum[4] = {};
#pragma unroll
  for (unsigned c = 0; c < 4; ++c) at[c] = (i + c * threads) / 32 * 40503u % NODES;
#pragma unroll 1
  for (int k = 0; k < steps; ++k) {
    int value[4];
#pragma unroll
    for (int c = 0; c < 4; ++c) value[c] = nodes[at[c] * 32 + i % 32];
#pragma unroll
    for (int c = 0; c < 4; ++c) {
      sum[c] += value[c];
      at[c] = __shfl_sync(~0u, value[c], 0);
    }
  }
#pragma unroll
  for (unsigned c = 0; c < 4; ++c) out[i + c * threads] = sum[c];
}

int main(int argc, char** argv) {
  Program p(argc, argv);
  float *in = p.in<float>(), *out = p.out<float>(), *more = p.more<float>();
  float4 *in4 = p.in<float4>(), *out4 = p.out<float4>();
  auto floats = [=] { fill_uniform(in, 1 << 27, 1); };

  p.set(1e-3);
  p.kernel<float>("long_rows-32", 32, floats, [=] { long_rows<<<dim3(32, 1), 256>>>(in, out, 1 << 21, 1); });
  p.kernel<float>("long_rows-2048", 32, floats, [=] { long_rows<<<dim3(32, 64), 256>>>(in, out, 1 << 21, 64); });

  auto none = [] {};
  p.set(1e-3);
  p.kernel<float>("fractal-24", 24 * 64 * 256, none, [=] { fractal<<<24, 256>>>(out, 768, 64); });
  p.kernel<float>("fractal-1536", 24 * 64 * 256, none, [=] { fractal<<<24 * 64, 256>>>(out, 768, 1); });

  p.set();
  p.kernel<float>("relax-280", 280 * 1024, floats, [=] { relax<<<280, 1024>>>(in, out); });
  p.kernel<float>("relax-1120", 280 * 1024, floats, [=] { relax<<<1120, 256>>>(in, out); });
  p.set();
  p.kernel<float>("relax-540", 540 * 1024, floats, [=] { relax<<<540, 1024>>>(in, out); });
  p.kernel<float>("relax-2160", 540 * 1024, floats, [=] { relax<<<2160, 256>>>(in, out); });

  constexpr int TRIANGLE = SMS * 256;
  p.set(1e-2);
  p.kernel<float>("pairs_beside", TRIANGLE, floats, [=] { pairs_beside<<<SMS, 1024>>>(in, out, TRIANGLE); });
  p.kernel<float>("pairs_apart", TRIANGLE, floats, [=] { pairs_apart<<<SMS, 1024>>>(in, out, TRIANGLE); });

  constexpr int SPARSE = 1 << 15;
  int* begins = p.more<int>();
  auto sparse = [=] {  // rows of 1,024, but each 2,048th has 262,144 more
    floats();
    fill(begins, SPARSE + 1, [=] __device__(size_t i) { return int(i * 1024 + (i + 2047) / 2048 * 262144); });
  };
  p.set(1e-3);
  p.kernel<float>("sparse_rows", SPARSE, sparse, [=] { sparse_rows<<<SPARSE / 8, 256>>>(in, begins, out, SPARSE); });
  p.kernel<float>("sparse_pieces", SPARSE, sparse, [=] { sparse_pieces<<<dim3(SPARSE / 8, 32), 256>>>(in, begins, out, SPARSE); });

  constexpr int PIXELS = 1 << 26;
  unsigned short* pixels = p.in<unsigned short>();
  unsigned* halves = p.in<unsigned>();
  auto picture = [=] {
    fill(halves, PIXELS / 2, [=] __device__(size_t i) { return hashed(unsigned(i), 2); });
    fill_uniform(more, 4096, 3);
  };
  p.set();
  p.kernel<float>("map_pixels-1", PIXELS, picture, [=] { map_pixels<<<PIXELS / 256, 256>>>(pixels, more, out, 1); });
  p.kernel<float>("map_pixels-64", PIXELS, picture, [=] { map_pixels<<<PIXELS / 256 / 64, 256>>>(pixels, more, out, 64); });

  auto market = [=] {
    floats();
    fill_uniform(more, 64, 4);
  };
  p.set(1e-5);
  p.kernel<float>("price-1", 1 << 25, market, [=] { price<<<(1 << 25) / 256, 256>>>(in, more, out, 1); });
  p.kernel<float>("price-16", 1 << 25, market, [=] { price<<<(1 << 25) / 256 / 16, 256>>>(in, more, out, 16); });

  constexpr int LARGE = 100 << 10, WALKS = 1 << 21;
  int *nodes = p.in<int>(), *found = p.out<int>();
  auto lists = [=] {
    for (auto kernel : {walk_with_tile, walk_small_blocks}) CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, LARGE));
    fill(nodes, NODES * 32, [=] __device__(size_t i) { return int(i % 32 ? hashed(unsigned(i), 5) % 1000000 : hashed(unsigned(i), 6) % NODES); });
  };
  p.set();
  p.kernel<int>("walk_nodes-32", WALKS, lists, [=] { walk_nodes<<<WALKS / 32, 32>>>(nodes, found, 64); });
  p.kernel<int>("walk_nodes-704", WALKS, lists, [=] { walk_nodes<<<blocks_for(WALKS, 704), 704>>>(nodes, found, 64); });
  p.kernel<int>("walk_nodes-256", WALKS, lists, [=] { walk_nodes<<<WALKS / 256, 256>>>(nodes, found, 64); });
  p.kernel<int>("walk_with_tile-100K", WALKS, lists, [=] { walk_with_tile<<<WALKS / 256, 256, LARGE>>>(nodes, found, 64); });
  p.kernel<int>("walk_with_tile-50K", WALKS, lists, [=] { walk_with_tile<<<WALKS / 256, 256, LARGE / 2>>>(nodes, found, 64); });
  p.kernel<int>("walk_with_tile-1K", WALKS, lists, [=] { walk_with_tile<<<WALKS / 256, 256, 1024>>>(nodes, found, 64); });
  p.kernel<int>("walk_small_blocks-14K", WALKS, lists, [=] { walk_small_blocks<<<WALKS / 32, 32, 14 << 10>>>(nodes, found, 64); });
  p.kernel<int>("walk_small_blocks-1K", WALKS, lists, [=] { walk_small_blocks<<<WALKS / 32, 32, 1024>>>(nodes, found, 64); });

  auto weighed = [=] {
    lists();
    fill_uniform(more, 128, 5);
    CHECK(cudaMemcpyToSymbol(constant_weights, more, sizeof constant_weights, 0, cudaMemcpyDeviceToDevice));
  };
  constexpr int WEIGHED = SMS * 64 * 128;
  p.set(1e-3);
  p.kernel<float>("weigh_registers", WEIGHED, weighed, [=] { weigh_registers<<<SMS * 64, 128>>>(nodes, more, out, 32); });
  p.kernel<float>("weigh_constants", WEIGHED, weighed, [=] { weigh_constants<<<SMS * 64, 128>>>(nodes, out, 32); });

  constexpr int BLENDED = 1 << 26;
  auto pictures = [=] {
    floats();
    fill_uniform(more, BLENDED, 2);
  };
  p.set(1e-6);
  p.kernel<float>("blend-32", BLENDED, pictures, [=] { blend<<<BLENDED / 32, 32>>>(in, more, out); });
  p.kernel<float>("blend-256", BLENDED, pictures, [=] { blend<<<BLENDED / 256, 256>>>(in, more, out); });

  constexpr int SMALL = 16384;
  p.set();
  p.kernel<float>("scale_small", 64 * SMALL, floats, [=] { for (int k = 0; k < 64; ++k) scale_small<<<SMALL / 256, 256>>>(in + k * SMALL, out + k * SMALL, SMALL); });
  p.kernel<float>("scale_all", 64 * SMALL, floats, [=] { scale_all<<<64 * SMALL / 256, 256>>>(in, out, 64 * SMALL); });
  p.set(1e-5);
  p.kernel<float>("product_small-1", 64 * 1024, floats, [=] { for (int k = 0; k < 64; ++k) product_small<<<1, dim3(32, 32)>>>(in + k * 1024, in + k * 1024, out + k * 1024); });
  p.kernel<float>("product_small-64", 64 * 1024, floats, [=] { product_small<<<64, dim3(32, 32)>>>(in, in, out); });

  p.set();
  auto few = [=] {
    floats();
    CHECK(cudaFuncSetAttribute(few_warps, cudaFuncAttributeMaxDynamicSharedMemorySize, LARGE));
  };
  p.kernel<float>("few_warps", SMS * 2 * 256, few, [=] { few_warps<<<SMS * 2, 256, LARGE>>>(in, out); });
  p.set();
  p.kernel<float>("copy_persistent", 1 << 27, floats, [=] { copy_persistent<<<SMS, 1024>>>(in4, out4, 1 << 25); });

  p.set();
  p.kernel<int>("walk_nodes-704-again", WALKS, lists, [=] { walk_nodes<<<blocks_for(WALKS, 704), 704>>>(nodes, found, 64); });
  p.kernel<int>("walk_nodes-256-again", WALKS, lists, [=] { walk_nodes<<<WALKS / 256, 256>>>(nodes, found, 64); });
  p.kernel<int>("walk_nodes_four-704", WALKS, lists, [=] { walk_nodes_four<<<blocks_for(WALKS / 4, 704), 704>>>(nodes, found, 64); });
  p.kernel<int>("walk_nodes-32-again", WALKS, lists, [=] { walk_nodes<<<WALKS / 32, 32>>>(nodes, found, 64); });
  p.kernel<int>("walk_nodes_four-32", WALKS, lists, [=] { walk_nodes_four<<<WALKS / 4 / 32, 32>>>(nodes, found, 64); });
  return p.end();
}
