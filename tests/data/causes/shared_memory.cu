// Kernels that are slow for how they use shared memory, each beside one that differs by that alone.
#include "program.cuh"

// ---- transpose through a tile: its columns in one bank, then in 32

__global__ void tile_square(const float* __restrict__ in, float* __restrict__ out, int n) {
  __shared__ float tile[32][32];
  int x = blockIdx.x * 32, y = blockIdx.y * 32;
  for (int j = threadIdx.y; j < 32; j += 8) tile[j][threadIdx.x] = in[size_t(y + j) * n + x + threadIdx.x];
  __syncthreads();
  for (int j = threadIdx.y; j < 32; j += 8) out[size_t(x + j) * n + y + threadIdx.x] = tile[threadIdx.x][j];  // <- tile_square
}

__global__ void tile_padded(const float* __restrict__ in, float* __restrict__ out, int n) {
  __shared__ float tile[32][33];
  int x = blockIdx.x * 32, y = blockIdx.y * 32;
  for (int j = threadIdx.y; j < 32; j += 8) tile[j][threadIdx.x] = in[size_t(y + j) * n + x + threadIdx.x];
  __syncthreads();
  for (int j = threadIdx.y; j < 32; j += 8) out[size_t(x + j) * n + y + threadIdx.x] = tile[threadIdx.x][j];
}

// ---- a histogram of each thread's own: a row of counters for each thread, then a column

__global__ void private_rows(const unsigned* __restrict__ in, int* __restrict__ bins, int each) {
  __shared__ unsigned short mine[128][64];
  for (int b = 0; b < 64; ++b) mine[threadIdx.x][b] = 0;  // <- private_rows
  int i = blockIdx.x * each * 128 + threadIdx.x;
  for (int k = 0; k < each; ++k, i += 128) {
    unsigned word = in[i];
#pragma unroll
    for (int part = 0; part < 4; ++part) ++mine[threadIdx.x][word >> (8 * part) & 63];  // <- private_rows
  }
  __syncthreads();
  if (threadIdx.x < 64) {
    int sum = 0;
    for (int t = 0; t < 128; ++t) sum += mine[t][threadIdx.x];
    atomicAdd(bins + threadIdx.x, sum);
  }
}

__global__ void private_columns(const unsigned* __restrict__ in, int* __restrict__ bins, int each) {
  __shared__ unsigned short mine[64][128];
  for (int b = 0; b < 64; ++b) mine[b][threadIdx.x] = 0;
  int i = blockIdx.x * each * 128 + threadIdx.x;
  for (int k = 0; k < each; ++k, i += 128) {
    unsigned word = in[i];
#pragma unroll
    for (int part = 0; part < 4; ++part) ++mine[word >> (8 * part) & 63][threadIdx.x];
  }
  __syncthreads();
  if (threadIdx.x < 64) {
    int sum = 0;
    for (int t = 0; t < 128; ++t) sum += mine[threadIdx.x][(t + threadIdx.x) % 128];
    atomicAdd(bins + threadIdx.x, sum);
  }
}

// ---- smoothing along a row held in shared memory: 16 neighbouring values a thread, then 256 apart

__global__ void smooth_chunks(const float* __restrict__ in, float* __restrict__ out, int rounds) {
  __shared__ float row[2][4096];
  for (int i = threadIdx.x; i < 4096; i += 256) row[0][i] = in[blockIdx.x * 4096 + i];
  __syncthreads();
  int now = 0;
  for (int round = 0; round < rounds; ++round, now ^= 1) {
#pragma unroll 4
    for (int k = 0; k < 16; ++k) {
      int i = threadIdx.x * 16 + k;
      row[now ^ 1][i] = 0.5f * row[now][i] + 0.25f * (row[now][(i + 4095) % 4096] + row[now][(i + 1) % 4096]);  // <- smooth_chunks
    }
    __syncthreads();
  }
  for (int i = threadIdx.x; i < 4096; i += 256) out[blockIdx.x * 4096 + i] = row[now][i];
}

__global__ void smooth_lanes(const float* __restrict__ in, float* __restrict__ out, int rounds) {
  __shared__ float row[2][4096];
  for (int i = threadIdx.x; i < 4096; i += 256) row[0][i] = in[blockIdx.x * 4096 + i];
  __syncthreads();
  int now = 0;
  for (int round = 0; round < rounds; ++round, now ^= 1) {
#pragma unroll 4
    for (int k = 0; k < 16; ++k) {
      int i = threadIdx.x + k * 256;
      row[now ^ 1][i] = 0.5f * row[now][i] + 0.25f * (row[now][(i + 4095) % 4096] + row[now][(i + 1) % 4096]);
    }
    __syncthreads();
  }
  for (int i = threadIdx.x; i < 4096; i += 256) out[blockIdx.x * 4096 + i] = row[now][i];
}

// ---- a product through tiles: one result a thread, then eight

__global__ void product_tiles(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int n) {
  __shared__ float as[32][32], bs[32][32];
  int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
  float sum = 0;
  for (int k = 0; k < n; k += 32) {
    as[threadIdx.y][threadIdx.x] = a[y * n + k + threadIdx.x];
    bs[threadIdx.y][threadIdx.x] = b[(k + threadIdx.y) * n + x];
    __syncthreads();
#pragma unroll
    for (int j = 0; j < 32; ++j) sum += as[threadIdx.y][j] * bs[j][threadIdx.x];  // <- product_tiles
    __syncthreads();
  }
  c[y * n + x] = sum;
}

__global__ void product_eight(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int n) {
  __shared__ __align__(16) float as[64][32], bs[32][64];
  int t = threadIdx.x, x = t % 16 * 4, y = t / 16 * 2;  // 512 threads: 2 x 4 results each, of 64 x 64
  float sum[2][4] = {};
  a += blockIdx.y * 64 * n;
  b += blockIdx.x * 64;
  for (int k = 0; k < n; k += 32) {
    for (int e = t; e < 2048; e += 512) as[e / 32][e % 32] = a[e / 32 * n + k + e % 32];
    for (int e = t; e < 2048; e += 512) bs[e / 64][e % 64] = b[(k + e / 64) * n + e % 64];
    __syncthreads();
#pragma unroll
    for (int j = 0; j < 32; ++j) {
      float4 right = *reinterpret_cast<float4*>(&bs[j][x]);
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        float left = as[y + r][j];
        sum[r][0] += left * right.x, sum[r][1] += left * right.y, sum[r][2] += left * right.z, sum[r][3] += left * right.w;
      }
    }
    __syncthreads();
  }
  for (int r = 0; r < 2; ++r)
    for (int q = 0; q < 4; ++q) c[(blockIdx.y * 64 + y + r) * n + blockIdx.x * 64 + x + q] = sum[r][q];
}

// ---- a filter over a row in shared memory: each value read by every thread that needs it, then once for eight results

constexpr int TAPS = 32;
__constant__ float taps[TAPS];

__global__ void filter_one(const float* __restrict__ in, float* __restrict__ out) {
  __shared__ float row[2048 + TAPS];
  for (int i = threadIdx.x; i < 2048 + TAPS; i += 256) row[i] = in[blockIdx.x * 2048 + i];
  __syncthreads();
#pragma unroll 1
  for (int j = threadIdx.x; j < 2048; j += 256) {
    float sum = 0;
#pragma unroll
    for (int k = 0; k < TAPS; ++k) sum += taps[k] * row[j + k];  // <- filter_one
    out[blockIdx.x * 2048 + j] = sum;
  }
}

__global__ void filter_window(const float* __restrict__ in, float* __restrict__ out) {
  __shared__ __align__(16) float row[2048 + TAPS], results[256 * 9];
  for (int i = threadIdx.x; i < 2048 + TAPS; i += 256) row[i] = in[blockIdx.x * 2048 + i];
  __syncthreads();
  float v[TAPS + 8];
#pragma unroll
  for (int k = 0; k < TAPS + 8; k += 4) *reinterpret_cast<float4*>(v + k) = *reinterpret_cast<float4*>(row + threadIdx.x * 8 + k);
#pragma unroll
  for (int j = 0; j < 8; ++j) {
    float sum = 0;
#pragma unroll
    for (int k = 0; k < TAPS; ++k) sum += taps[k] * v[j + k];
    results[threadIdx.x * 9 + j] = sum;
  }
  __syncthreads();
  for (int i = threadIdx.x; i < 2048; i += 256) out[blockIdx.x * 2048 + i] = results[i / 8 * 9 + i % 8];
}

// ---- running sums over a tile: kept in shared memory, then in a register

__global__ void sums_in_shared(const float* __restrict__ in, float* __restrict__ out, int rounds) {
  extern __shared__ float memory[];
  float *tile = memory, *sums = memory + 1024;
  tile[threadIdx.x] = in[blockIdx.x * 1024 + threadIdx.x];
  tile[threadIdx.x + 512] = in[blockIdx.x * 1024 + threadIdx.x + 512];
  sums[threadIdx.x] = 0;
  __syncthreads();
#pragma unroll 1
  for (int round = 0; round < rounds; ++round)
#pragma unroll 8
    for (int k = 0; k < 512; ++k) sums[threadIdx.x] += tile[threadIdx.x + k] * tile[k + round % 4];  // <- sums_in_shared
  out[blockIdx.x * 512 + threadIdx.x] = sums[threadIdx.x];
}

__global__ void sums_in_register(const float* __restrict__ in, float* __restrict__ out, int rounds) {
  extern __shared__ float memory[];
  float* tile = memory;
  tile[threadIdx.x] = in[blockIdx.x * 1024 + threadIdx.x];
  tile[threadIdx.x + 512] = in[blockIdx.x * 1024 + threadIdx.x + 512];
  float sum = 0;
  __syncthreads();
#pragma unroll 1
  for (int round = 0; round < rounds; ++round)
#pragma unroll 8
    for (int k = 0; k < 512; ++k) sum += tile[threadIdx.x + k] * tile[k + round % 4];
  out[blockIdx.x * 512 + threadIdx.x] = sum;
}

// ---- n-body through a tile: a body's numbers in four arrays, each read by itself, then in one vector

__global__ void bodies_in_arrays(const float4* __restrict__ bodies, float4* __restrict__ out, int n) {
  __shared__ float xs[257], ys[257], zs[257], ms[257];
  float4 at = bodies[blockIdx.x * 256 + threadIdx.x];
  float3 force = make_float3(0, 0, 0);
  for (int tile = 0; tile < n; tile += 256) {
    float4 one = bodies[tile + threadIdx.x];
    __syncthreads();
    xs[threadIdx.x] = one.x, ys[threadIdx.x] = one.y, zs[threadIdx.x] = one.z, ms[threadIdx.x] = one.w;
    __syncthreads();
#pragma unroll 1
    for (int k = 0; k < 256; ++k) {
      float dx = xs[k] - at.x, dy = ys[k] - at.y, dz = zs[k] - at.z;  // <- bodies_in_arrays
      float r = rsqrtf(dx * dx + dy * dy + dz * dz + 0.01f), f = ms[k] * r * r * r;  // <- bodies_in_arrays
      force.x += f * dx, force.y += f * dy, force.z += f * dz;
    }
  }
  out[blockIdx.x * 256 + threadIdx.x] = make_float4(force.x, force.y, force.z, 1);
}

__global__ void bodies_in_vectors(const float4* __restrict__ bodies, float4* __restrict__ out, int n) {
  __shared__ float4 all[257];
  float4 at = bodies[blockIdx.x * 256 + threadIdx.x];
  float3 force = make_float3(0, 0, 0);
  for (int tile = 0; tile < n; tile += 256) {
    float4 one = bodies[tile + threadIdx.x];
    __syncthreads();
    all[threadIdx.x] = one;
    __syncthreads();
#pragma unroll 1
    for (int k = 0; k < 256; ++k) {
      float4 other = all[k];
      float dx = other.x - at.x, dy = other.y - at.y, dz = other.z - at.z;
      float r = rsqrtf(dx * dx + dy * dy + dz * dz + 0.01f), f = other.w * r * r * r;
      force.x += f * dx, force.y += f * dy, force.z += f * dz;
    }
  }
  out[blockIdx.x * 256 + threadIdx.x] = make_float4(force.x, force.y, force.z, 1);
}

// ---- two causes: a tree of sums in one column of a tile, whose lanes share a bank, with a barrier that no step needs

template <int PITCH, bool BARRIERS>
__device__ __forceinline__ void sum_columns(const float* __restrict__ in, float* __restrict__ out, float* tile, int rounds) {
  for (int i = threadIdx.x; i < 32 * 32; i += 256) tile[i / 32 * PITCH + i % 32] = in[blockIdx.x * 1024 + i];
  __syncthreads();
  float sum = 0;
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  for (int round = 0; round < rounds; ++round) {
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      sum += tile[lane * PITCH + (warp * 4 + k + round) % 32];  // <- sum_columns
      if (BARRIERS) __syncthreads();  // <- sum_columns
    }
  }
  out[blockIdx.x * 256 + threadIdx.x] = sum;
}

__global__ void columns_both(const float* __restrict__ in, float* __restrict__ out, int rounds) {
  __shared__ float tile[32 * 33];
  sum_columns<32, true>(in, out, tile, rounds);
}
__global__ void columns_barriers(const float* __restrict__ in, float* __restrict__ out, int rounds) {
  __shared__ float tile[32 * 33];
  sum_columns<33, true>(in, out, tile, rounds);
}
__global__ void columns_conflicts(const float* __restrict__ in, float* __restrict__ out, int rounds) {
  __shared__ float tile[32 * 33];
  sum_columns<32, false>(in, out, tile, rounds);
}
__global__ void columns_neither(const float* __restrict__ in, float* __restrict__ out, int rounds) {
  __shared__ float tile[32 * 33];
  sum_columns<33, false>(in, out, tile, rounds);
}

// ---- decoys

// Two lanes share a bank once for each value that comes from memory: memory alone decides.
__global__ void swap_pairs(const float2* __restrict__ in, float2* __restrict__ out, int n) {
  __shared__ float values[2 * 256];
  int i = blockIdx.x * 256 + threadIdx.x;
  float2 v = in[i];
  values[threadIdx.x * 2] = v.x;
  values[threadIdx.x * 2 + 1] = v.y;
  __syncthreads();
  out[i] = make_float2(values[(threadIdx.x ^ 1) * 2], values[(threadIdx.x ^ 1) * 2 + 1]);
}

// A tile without conflicts, with a barrier for each: at the speed of memory.
__global__ void reverse_rows(const float* __restrict__ in, float* __restrict__ out) {
  __shared__ float row[1024];
  size_t begin = blockIdx.x * size_t(1024);
  for (int i = threadIdx.x; i < 1024; i += 256) row[i] = in[begin + i];
  __syncthreads();
  for (int i = threadIdx.x; i < 1024; i += 256) out[begin + i] = row[1023 - i];
}

// ---- n-body as in bodies_in_arrays, with the loop unrolled by four

__global__ void bodies_in_arrays_unrolled(const float4* __restrict__ bodies, float4* __restrict__ out, int n) {
  __shared__ float xs[257], ys[257], zs[257], ms[257];
  float4 at = bodies[blockIdx.x * 256 + threadIdx.x];
  float3 force = make_float3(0, 0, 0);
  for (int tile = 0; tile < n; tile += 256) {
    float4 one = bodies[tile + threadIdx.x];
    __syncthreads();
    xs[threadIdx.x] = one.x, ys[threadIdx.x] = one.y, zs[threadIdx.x] = one.z, ms[threadIdx.x] = one.w;
    __syncthreads();
#pragma unroll 4
    for (int k = 0; k < 256; ++k) {
      float dx = xs[k] - at.x, dy = ys[k] - at.y, dz = zs[k] - at.z;
      float r = rsqrtf(dx * dx + dy * dy + dz * dz + 0.01f), f = ms[k] * r * r * r;
      force.x += f * dx, force.y += f * dy, force.z += f * dz;
    }
  }
  out[blockIdx.x * 256 + threadIdx.x] = make_float4(force.x, force.y, force.z, 1);
}

// ---- the bytes of each row counted: every thread clears all counts, then each its own

__global__ void counts_cleared_by_all(const unsigned* __restrict__ in, int* __restrict__ out, int rows, int bins) {
  __shared__ int counts[256];
  for (int row = blockIdx.x; row < rows; row += gridDim.x) {
    for (int b = 0; b < bins; ++b) counts[b] = 0;  // <- counts_cleared_by_all
    __syncthreads();
    unsigned word = in[row * 128 + threadIdx.x];
    for (int k = 0; k < 4; ++k) atomicAdd(&counts[word >> 8 * k & 255], 1);
    __syncthreads();
    for (int b = threadIdx.x; b < bins; b += 128) out[row * bins + b] = counts[b];
    __syncthreads();
  }
}

__global__ void counts_cleared_by_each(const unsigned* __restrict__ in, int* __restrict__ out, int rows, int bins) {
  __shared__ int counts[256];
  for (int row = blockIdx.x; row < rows; row += gridDim.x) {
    for (int b = threadIdx.x; b < bins; b += 128) counts[b] = 0;
    __syncthreads();
    unsigned word = in[row * 128 + threadIdx.x];
    for (int k = 0; k < 4; ++k) atomicAdd(&counts[word >> 8 * k & 255], 1);
    __syncthreads();
    for (int b = threadIdx.x; b < bins; b += 128) out[row * bins + b] = counts[b];
    __syncthreads();
  }
}

int main(int argc, char** argv) {
  Program p(argc, argv);
  float *in = p.in<float>(), *out = p.out<float>(), *b = p.more<float>();
  auto floats = [=] { fill_uniform(in, 1 << 28, 1); };

  for (int n : {8192, 2048}) {
    bool small = n == 2048;
    p.set();
    p.kernel<float>(small ? "tile_square-2048" : "tile_square", size_t(n) * n, floats, [=] { tile_square<<<dim3(n / 32, n / 32), dim3(32, 8)>>>(in, out, n); });
    p.kernel<float>(small ? "tile_padded-2048" : "tile_padded", size_t(n) * n, floats, [=] { tile_padded<<<dim3(n / 32, n / 32), dim3(32, 8)>>>(in, out, n); });
  }

  constexpr int EACH = 128, GROUPS = SMS * 32;
  unsigned* words = p.in<unsigned>();
  auto random = [=] { fill(words, size_t(GROUPS) * EACH * 128, [=] __device__(size_t i) { return hashed(unsigned(i), 3); }); };
  p.set();
  p.kernel<int>("private_rows", 64, random, [=] { private_rows<<<GROUPS, 128>>>(words, reinterpret_cast<int*>(out), EACH); });
  p.kernel<int>("private_columns", 64, random, [=] { private_columns<<<GROUPS, 128>>>(words, reinterpret_cast<int*>(out), EACH); });

  constexpr int ROWS = SMS * 6;
  p.set(1e-5);
  p.kernel<float>("smooth_chunks", ROWS * 4096, floats, [=] { smooth_chunks<<<ROWS, 256>>>(in, out, 64); });
  p.kernel<float>("smooth_lanes", ROWS * 4096, floats, [=] { smooth_lanes<<<ROWS, 256>>>(in, out, 64); });

  for (int n : {2048, 1024}) {
    bool small = n == 1024;
    auto matrices = [=] {
      fill_uniform(in, n * n, 8);
      fill_uniform(b, n * n, 9);
    };
    p.set(1e-4);
    p.kernel<float>(small ? "product_tiles-1024" : "product_tiles", n * n, matrices, [=] { product_tiles<<<dim3(n / 32, n / 32), dim3(32, 32)>>>(in, b, out, n); });
    p.kernel<float>(small ? "product_eight-1024" : "product_eight", n * n, matrices, [=] { product_eight<<<dim3(n / 64, n / 64), 512>>>(in, b, out, n); });
  }

  constexpr int TILES = 1 << 13;
  auto filter = [=] {
    float host[TAPS];
    for (int k = 0; k < TAPS; ++k) host[k] = uniform(k, 5);
    CHECK(cudaMemcpyToSymbol(taps, host, sizeof host));
    fill_uniform(in, TILES * 2048 + TAPS, 1);
  };
  p.set(1e-5);
  p.kernel<float>("filter_one", TILES * 2048, filter, [=] { filter_one<<<TILES, 256>>>(in, out); });
  p.kernel<float>("filter_window", TILES * 2048, filter, [=] { filter_window<<<TILES, 256>>>(in, out); });

  p.set(1e-4);
  p.kernel<float>("sums_in_shared", SMS * 16 * 512, floats, [=] { sums_in_shared<<<SMS * 16, 512, 1536 * 4>>>(in, out, 4); });
  p.kernel<float>("sums_in_register", SMS * 16 * 512, floats, [=] { sums_in_register<<<SMS * 16, 512, 1536 * 4>>>(in, out, 4); });

  constexpr int BODIES = SMS * 8 * 256;
  float4* at = p.in<float4>();
  float4* forces = p.out<float4>();
  p.set(1e-3);
  p.kernel<float>("bodies_in_arrays", BODIES * 4, floats, [=] { bodies_in_arrays<<<SMS * 8, 256>>>(at, forces, 4096); });
  p.kernel<float>("bodies_in_vectors", BODIES * 4, floats, [=] { bodies_in_vectors<<<SMS * 8, 256>>>(at, forces, 4096); });

  constexpr int COLUMNS = SMS * 8;
  p.set(1e-4);
  p.kernel<float>("columns_both", COLUMNS * 256, floats, [=] { columns_both<<<COLUMNS, 256>>>(in, out, 128); });
  p.kernel<float>("columns_barriers", COLUMNS * 256, floats, [=] { columns_barriers<<<COLUMNS, 256>>>(in, out, 128); });
  p.kernel<float>("columns_conflicts", COLUMNS * 256, floats, [=] { columns_conflicts<<<COLUMNS, 256>>>(in, out, 128); });
  p.kernel<float>("columns_neither", COLUMNS * 256, floats, [=] { columns_neither<<<COLUMNS, 256>>>(in, out, 128); });

  constexpr int PAIRS = 1 << 26;
  float2 *pairs = p.in<float2>(), *swapped = p.out<float2>();
  p.set();
  p.kernel<float>("swap_pairs", size_t(PAIRS) * 2, floats, [=] { swap_pairs<<<PAIRS / 256, 256>>>(pairs, swapped, PAIRS); });
  p.set();
  p.kernel<float>("reverse_rows", 1 << 27, floats, [=] { reverse_rows<<<(1 << 27) / 1024, 256>>>(in, out); });

  p.set(1e-2);
  p.kernel<float>("bodies_in_arrays-again", BODIES * 4, floats, [=] { bodies_in_arrays<<<SMS * 8, 256>>>(at, forces, 4096); });
  p.kernel<float>("bodies_in_vectors-again", BODIES * 4, floats, [=] { bodies_in_vectors<<<SMS * 8, 256>>>(at, forces, 4096); });
  p.kernel<float>("bodies_in_arrays_unrolled", BODIES * 4, floats, [=] { bodies_in_arrays_unrolled<<<SMS * 8, 256>>>(at, forces, 4096); });

  constexpr int COUNTED = 1 << 18;
  int* counts = p.out<int>();
  p.set();
  p.kernel<int>("counts_cleared_by_all", size_t(COUNTED) * 256, random, [=] { counts_cleared_by_all<<<SMS * 16, 128>>>(words, counts, COUNTED, 256); });
  p.kernel<int>("counts_cleared_by_each", size_t(COUNTED) * 256, random, [=] { counts_cleared_by_each<<<SMS * 16, 128>>>(words, counts, COUNTED, 256); });
  return p.end();
}
