// Kernels that are slow for how they reach device memory, each beside one that differs by that alone.
#include <cuda_fp16.h>

#include "program.cuh"

// ---- particles: an array of structures, then a structure of arrays

struct Particle {
  float x, y, z, mass, vx, vy, vz, charge;
};

__global__ void move_structs(const Particle* __restrict__ p, float* __restrict__ speed, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float vx = p[i].vx;  // <- move_structs
  float vy = p[i].vy;  // <- move_structs
  float charge = p[i].charge;  // <- move_structs
  speed[i] = sqrtf(vx * vx + vy * vy) * charge;
}

__global__ void move_arrays(const float* __restrict__ p, float* __restrict__ speed, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float vx = p[4 * size_t(n) + i];
  float vy = p[5 * size_t(n) + i];
  float charge = p[7 * size_t(n) + i];
  speed[i] = sqrtf(vx * vx + vy * vy) * charge;
}

// ---- sums of rows: a thread for each row, then a warp for each row

__global__ void row_sums_thread(const float* __restrict__ in, float* __restrict__ out, int rows, int columns) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float sum = 0;
  for (int k = 0; k < columns; ++k) sum += in[size_t(row) * columns + k];  // <- row_sums_thread
  out[row] = sum;
}

__global__ void row_sums_warp(const float* __restrict__ in, float* __restrict__ out, int rows, int columns) {
  int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  if (row >= rows) return;
  float sum = 0;
  for (int k = lane; k < columns; k += 32) sum += in[size_t(row) * columns + k];
  for (int step = 16; step; step /= 2) sum += __shfl_down_sync(~0u, sum, step);
  if (lane == 0) out[row] = sum;
}

// ---- a gather by an index that is shuffled, then by one that is sorted

__global__ void gather_rows(const float* __restrict__ table, const int* __restrict__ index, float* __restrict__ out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = 2 * table[index[i]];  // <- gather_rows
}

// ---- transpose: rows written down a column, then through a tile

__global__ void transpose_rows(const float* __restrict__ in, float* __restrict__ out, int n) {
  int x = blockIdx.x * 32 + threadIdx.x;
  for (int y = blockIdx.y * 32 + threadIdx.y; y < blockIdx.y * 32 + 32; y += 8)
    out[size_t(x) * n + y] = in[size_t(y) * n + x];  // <- transpose_rows
}

__global__ void transpose_columns(const float* __restrict__ in, float* __restrict__ out, int n) {
  int x = blockIdx.x * 32 + threadIdx.x;
  for (int y = blockIdx.y * 32 + threadIdx.y; y < blockIdx.y * 32 + 32; y += 8)
    out[size_t(y) * n + x] = in[size_t(x) * n + y];  // <- transpose_columns
}

__global__ void transpose_tile(const float* __restrict__ in, float* __restrict__ out, int n) {
  __shared__ float tile[32][33];
  int x = blockIdx.x * 32, y = blockIdx.y * 32;
  for (int j = threadIdx.y; j < 32; j += 8) tile[j][threadIdx.x] = in[size_t(y + j) * n + x + threadIdx.x];
  __syncthreads();
  for (int j = threadIdx.y; j < 32; j += 8) out[size_t(x + j) * n + y + threadIdx.x] = tile[threadIdx.x][j];
}

// Two causes: the column is written as above, and its place is found by 64-bit division.
__global__ void transpose_divided(const float* __restrict__ in, float* __restrict__ out, size_t n) {
  size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x;
  if (i < n * n) out[(i % n) * n + i / n] = in[i];  // <- transpose_divided
}

__global__ void transpose_divided_tile(const float* __restrict__ in, float* __restrict__ out, size_t n) {
  __shared__ float tile[32][33];
  size_t tiles = n / 32, x = blockIdx.x % tiles * 32, y = blockIdx.x / tiles * 32;
  for (size_t e = threadIdx.x; e < 1024; e += 256) {
    size_t at = (y + e / 32) * n + x + e % 32;
    tile[(at / n) % 32][(at % n) % 32] = in[at];  // <- transpose_divided_tile
  }
  __syncthreads();
  for (size_t e = threadIdx.x; e < 1024; e += 256) {
    size_t at = (x + e / 32) * n + y + e % 32;
    out[at] = tile[(at % n) % 32][(at / n) % 32];  // <- transpose_divided_tile
  }
}

// ---- numbers of four bits: a word of 16 unpacked by one thread, then by 16 threads

__global__ void unpack_words(const unsigned long long* __restrict__ in, float* __restrict__ out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned long long word = in[i];
  for (int k = 0; k < 16; ++k) out[size_t(i) * 16 + k] = 0.125f * static_cast<float>(unsigned(word >> (4 * k)) & 15);  // <- unpack_words
}

__global__ void unpack_numbers(const unsigned* __restrict__ in, float* __restrict__ out, int n) {
  for (unsigned i = blockIdx.x * 4096 + threadIdx.x, k = 0; k < 16; ++k, i += 256)
    if (i < n * 16u) out[i] = 0.125f * static_cast<float>(in[i / 8] >> (i % 8 * 4) & 15);
}

// ---- pixels: planes joined by four stores, then by one

__global__ void join_planes(const float* __restrict__ in, float* __restrict__ out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  out[4 * size_t(i) + 0] = in[i] * 0.5f;  // <- join_planes
  __threadfence_block();
  out[4 * size_t(i) + 1] = in[size_t(n) + i] * 0.5f;
  __threadfence_block();
  out[4 * size_t(i) + 2] = in[2 * size_t(n) + i] * 0.5f;
  __threadfence_block();
  out[4 * size_t(i) + 3] = 1;  // <- join_planes
}

__global__ void join_vectors(const float* __restrict__ in, float4* __restrict__ out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = make_float4(in[i] * 0.5f, in[size_t(n) + i] * 0.5f, in[2 * size_t(n) + i] * 0.5f, 1);
}

// ---- a picture made brighter: byte by byte, then 16 bytes at once

__device__ unsigned char brighter(unsigned char v) { return static_cast<unsigned char>(min(v + 40, 255)); }

__global__ void brighten_bytes(const unsigned char* __restrict__ in, unsigned char* __restrict__ out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = brighter(in[i]);  // <- brighten_bytes
}

__global__ void brighten_vectors(const uint4* __restrict__ in, uint4* __restrict__ out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n / 16) return;
  uint4 word = in[i];
  unsigned char* bytes = reinterpret_cast<unsigned char*>(&word);
#pragma unroll
  for (int k = 0; k < 16; ++k) bytes[k] = brighter(bytes[k]);
  out[i] = word;
}

// ---- SAXPY of halves: one, then eight at once

__global__ void saxpy_half(const __half* __restrict__ x, __half* __restrict__ y, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = __float2half(a * __half2float(x[i]) + 0.25f);  // <- saxpy_half
}

__global__ void saxpy_half8(const uint4* __restrict__ x, uint4* __restrict__ y, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n / 8) return;
  uint4 word = x[i];
  __half2* pair = reinterpret_cast<__half2*>(&word);
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    float2 v = __half22float2(pair[k]);
    pair[k] = __floats2half2_rn(a * v.x + 0.25f, a * v.y + 0.25f);
  }
  y[i] = word;
}

// ---- the mean of frames: each begins one value behind a boundary, then on it

__global__ void mean_frames(const float* __restrict__ in, float* __restrict__ out, int n, int frames, int pitch, int rounds) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float sum = 0;
  for (int round = 0; round < rounds; ++round)
#pragma unroll 8
    for (int f = 0; f < frames; ++f) sum += __ldcg(in + size_t(f) * pitch + i + 1);  // <- mean_frames
  out[i] = sum / frames;
}

__global__ void mean_frames_aligned(const float* __restrict__ in, float* __restrict__ out, int n, int frames, int pitch, int rounds) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float sum = 0;
  for (int round = 0; round < rounds; ++round)
#pragma unroll 8
    for (int f = 0; f < frames; ++f) sum += __ldcg(in + size_t(f) * pitch + i);
  out[i] = sum / frames;
}

// ---- sums and sums of squares of columns: kept in memory, then in registers

__global__ void columns_in_memory(const float* a, float* sums, float* squares, int rows, int columns) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= columns) return;
  for (int k = 0; k < rows; ++k) {
    float v = a[size_t(k) * columns + i];  // <- columns_in_memory
    sums[i] += v;         // <- columns_in_memory
    squares[i] += v * v;  // <- columns_in_memory
  }
}

__global__ void columns_in_register(const float* a, float* sums, float* squares, int rows, int columns) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= columns) return;
  float sum = 0, square = 0;
  for (int k = 0; k < rows; ++k) {
    float v = a[size_t(k) * columns + i];
    sum += v;
    square += v * v;
  }
  sums[i] = sum;
  squares[i] = square;
}

// ---- a polynomial: its weights loaded again for each output, then once

__global__ void filter_reloading(const float* in, const float* weights, float* out, int n) {
  int begin = (blockIdx.x * 8) * blockDim.x + threadIdx.x;
#pragma unroll
  for (int j = 0; j < 8; ++j) {
    int i = begin + j * blockDim.x;
    float x = in[i], y = 0;
#pragma unroll
    for (int k = 0; k < 24; ++k) y = y * x + weights[k];  // <- filter_reloading
    out[i] = y;
  }
}

__global__ void filter_once(const float* in, const float* weights, float* out, int n) {
  int begin = (blockIdx.x * 8) * blockDim.x + threadIdx.x;
  float w[24];
#pragma unroll
  for (int k = 0; k < 24; ++k) w[k] = weights[k];
#pragma unroll
  for (int j = 0; j < 8; ++j) {
    int i = begin + j * blockDim.x;
    float x = in[i], y = 0;
#pragma unroll
    for (int k = 0; k < 24; ++k) y = y * x + w[k];
    out[i] = y;
  }
}

// ---- a product of matrices: both from memory, then through tiles

__global__ void product_plain(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int n) {
  int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
  float sum = 0;
  for (int k = 0; k < n; ++k)
    sum += a[y * n + k] * b[k * n + x];  // <- product_plain
  c[y * n + x] = sum;
}

__global__ void product_rows(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int n) {
  int x = blockIdx.x * 32 + threadIdx.x, y = (blockIdx.y * 32 + threadIdx.y) * 4;
  float sum[4] = {};
  for (int k = 0; k < n; ++k) {
    float right = b[k * n + x];
#pragma unroll
    for (int j = 0; j < 4; ++j) sum[j] += a[(y + j) * n + k] * right;
  }
  for (int j = 0; j < 4; ++j) c[(y + j) * n + x] = sum[j];
}

// ---- cosine transform of 64 values in registers: too few of them, then enough

__device__ __forceinline__ void rotate8(float* v) {
#pragma unroll
  for (int half = 4; half; half /= 2)
#pragma unroll
    for (int k = 0; k < 8; ++k)
      if (!(k & half)) {
        float a = v[k], b = v[k + half];
        v[k] = 0.7071f * a + 0.5f * b;
        v[k + half] = 0.5f * a - 0.7071f * b;
      }
}

__device__ __forceinline__ void transform64(const float* __restrict__ in, float* __restrict__ out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float v[64], column[8];
#pragma unroll
  for (int k = 0; k < 64; ++k) v[k] = in[size_t(k) * n + i];  // <- transform_few
#pragma unroll 1
  for (int round = 0; round < 4; ++round) {
#pragma unroll
    for (int row = 0; row < 8; ++row) rotate8(v + row * 8);  // <- transform_few
#pragma unroll
    for (int x = 0; x < 8; ++x) {
#pragma unroll
      for (int k = 0; k < 8; ++k) column[k] = v[k * 8 + x];
      rotate8(column);
#pragma unroll
      for (int k = 0; k < 8; ++k) v[k * 8 + x] = column[k];
    }
  }
#pragma unroll
  for (int k = 0; k < 64; ++k) out[size_t(k) * n + i] = v[k];  // <- transform_few
}

__global__ void __launch_bounds__(1024, 2) transform_few(const float* __restrict__ in, float* __restrict__ out, int n) {
  transform64(in, out, n);
}

__global__ void __launch_bounds__(256) transform_enough(const float* __restrict__ in, float* __restrict__ out, int n) {
  transform64(in, out, n);
}

// ---- n-body of eight bodies a thread: squeezed into 40 registers, then not

__device__ __forceinline__ void attract(const float4* __restrict__ bodies, float4* __restrict__ out, int n) {
  int i = (blockIdx.x * blockDim.x + threadIdx.x) * 8;
  float4 at[8], force[8];
#pragma unroll
  for (int j = 0; j < 8; ++j) at[j] = bodies[i + j], force[j] = make_float4(0, 0, 0, 0);
#pragma unroll 2
  for (int k = 0; k < n; ++k) {
    float4 other = __ldg(bodies + k);
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      float dx = other.x - at[j].x, dy = other.y - at[j].y, dz = other.z - at[j].z;  // <- attract_squeezed
      float r = rsqrtf(dx * dx + dy * dy + dz * dz + 0.01f), f = other.w * r * r * r;
      force[j].x += f * dx, force[j].y += f * dy, force[j].z += f * dz, force[j].w += other.w * r;  // <- attract_squeezed
    }
  }
#pragma unroll
  for (int j = 0; j < 8; ++j) out[i + j] = force[j];
}

__global__ void __launch_bounds__(256, 6) attract_squeezed(const float4* __restrict__ bodies, float4* __restrict__ out, int n) { attract(bodies, out, n); }
__global__ void __launch_bounds__(256) attract_free(const float4* __restrict__ bodies, float4* __restrict__ out, int n) { attract(bodies, out, n); }

// ---- a histogram: all on few counters in memory, then a copy for each block

__global__ void count_global(const unsigned char* __restrict__ in, int* __restrict__ bins, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    atomicAdd(bins + in[i] % 16, 1);  // <- count_global
}

__global__ void count_blocks(const unsigned char* __restrict__ in, int* __restrict__ bins, int n) {
  __shared__ int mine[8][16];
  if (threadIdx.x < 128) mine[threadIdx.x / 16][threadIdx.x % 16] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    atomicAdd(&mine[threadIdx.x / 32][in[i] % 16], 1);  // <- count_blocks
  __syncthreads();
  if (threadIdx.x < 16)
    for (int warp = 0; warp < 8; ++warp) atomicAdd(bins + threadIdx.x, mine[warp][threadIdx.x]);
}

// ---- a sum: an atomic for each value, for each warp, for each block

__global__ void sum_atomics(const float* __restrict__ in, float* __restrict__ total, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(total, in[i]);  // <- sum_atomics
}

__global__ void sum_once_a_block(const float* __restrict__ in, float* __restrict__ total, int n) {
  __shared__ float sums[8];
  float sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += in[i];
  for (int step = 16; step; step /= 2) sum += __shfl_down_sync(~0u, sum, step);
  if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x < 8) {
    sum = sums[threadIdx.x];
    for (int step = 4; step; step /= 2) sum += __shfl_down_sync(0xff, sum, step);
    if (threadIdx.x == 0) atomicAdd(total, sum);
  }
}

// ---- decoys

// One atomic a block at the end of a long sum: nobody waits for it.
__global__ void sum_vectors(const float4* __restrict__ in, float* __restrict__ total, int n) {
  float sum = 0;
#pragma unroll 4
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    float4 v = in[i];
    sum += v.x + v.y + v.z + v.w;
  }
  for (int step = 16; step; step /= 2) sum += __shfl_down_sync(~0u, sum, step);
  if (threadIdx.x % 32 == 0) atomicAdd(total, sum);
}

// Each thread reads one value 64 bytes from its neighbour's, and then computes for long.
__global__ void orbit(const float* __restrict__ start, float* __restrict__ out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float x[4];
  for (int j = 0; j < 4; ++j) x[j] = start[size_t(i) * 16 + j * 4];
#pragma unroll 16
  for (int k = 0; k < 2048; ++k)
    for (int j = 0; j < 4; ++j) x[j] = x[j] * (1.0f - x[j] * 0.25f) + 0.125f;
  out[i] = x[0] + x[1] + x[2] + x[3];
}

int main(int argc, char** argv) {
  Program p(argc, argv);
  float *in = p.in<float>(), *out = p.out<float>();

  for (int n : {1 << 25, 1 << 22}) {
    const char* names[2][2] = {{"move_structs", "move_arrays"}, {"move_structs-4M", "move_arrays-4M"}};
    bool small = n == 1 << 22;
    p.set(1e-6);
    p.kernel<float>(names[small][0], n,
                    [=] { fill(in, size_t(n) * 8, [=] __device__(size_t i) { return uniform(unsigned(i / 8), unsigned(i % 8)); }); },
                    [=] { move_structs<<<blocks_for(n, 256), 256>>>(reinterpret_cast<Particle*>(in), out, n); });
    p.kernel<float>(names[small][1], n,
                    [=] { fill(in, size_t(n) * 8, [=] __device__(size_t i) { return uniform(unsigned(i % n), unsigned(i / n)); }); },
                    [=] { move_arrays<<<blocks_for(n, 256), 256>>>(in, out, n); });
  }

  auto floats = [=] { fill_uniform(in, 1 << 27, 1); };
  p.set(1e-4);
  p.kernel<float>("row_sums_thread", 1 << 17, floats, [=] { row_sums_thread<<<(1 << 17) / 256, 256>>>(in, out, 1 << 17, 1024); });
  p.kernel<float>("row_sums_warp", 1 << 17, floats, [=] { row_sums_warp<<<(1 << 17) / 8, 256>>>(in, out, 1 << 17, 1024); });

  constexpr int ROWS = 1 << 25;
  int* index = p.more<int>();
  auto shuffled = [=] {
    fill_uniform(in, ROWS, 2);
    fill(index, ROWS, [=] __device__(size_t i) { return int((i * 2654435761u) % ROWS); });
  };
  auto ordered = [=] {  // the values move to where the index then asks for them, in order
    fill(in, ROWS, [=] __device__(size_t i) { return uniform(unsigned((i * 2654435761u) % ROWS), 2); });
    fill(index, ROWS, [=] __device__(size_t i) { return int(i); });
  };
  p.set();
  p.kernel<float>("gather_rows-shuffled", ROWS, shuffled, [=] { gather_rows<<<ROWS / 256, 256>>>(in, index, out, ROWS); });
  p.kernel<float>("gather_rows-ordered", ROWS, ordered, [=] { gather_rows<<<ROWS / 256, 256>>>(in, index, out, ROWS); });

  for (int n : {8192, 2048}) {
    bool small = n == 2048;
    auto name = [=](const char* big, const char* little) { return small ? little : big; };
    dim3 grid(n / 32, n / 32), block(32, 8);
    size_t count = size_t(n) * n;
    p.set();
    p.kernel<float>(name("transpose_rows", "transpose_rows-2048"), count, floats, [=] { transpose_rows<<<grid, block>>>(in, out, n); });
    p.kernel<float>(name("transpose_columns", "transpose_columns-2048"), count, floats, [=] { transpose_columns<<<grid, block>>>(in, out, n); });
    p.kernel<float>(name("transpose_tile", "transpose_tile-2048"), count, floats, [=] { transpose_tile<<<grid, block>>>(in, out, n); });
    if (small) continue;
    p.kernel<float>("transpose_divided", count, floats, [=] { transpose_divided<<<blocks_for(count, 256), 256>>>(in, out, n); });
    p.kernel<float>("transpose_divided_tile", count, floats, [=] { transpose_divided_tile<<<grid.x * grid.y, 256>>>(in, out, n); });
  }

  constexpr int WORDS = 1 << 22;
  auto words = [=] { fill(reinterpret_cast<unsigned*>(in), WORDS * 2, [=] __device__(size_t i) { return hashed(unsigned(i), 3); }); };
  p.set();
  p.kernel<float>("unpack_words", WORDS * size_t(16), words, [=] { unpack_words<<<WORDS / 256, 256>>>(reinterpret_cast<unsigned long long*>(in), out, WORDS); });
  p.kernel<float>("unpack_numbers", WORDS * size_t(16), words, [=] { unpack_numbers<<<WORDS / 256, 256>>>(reinterpret_cast<unsigned*>(in), out, WORDS); });

  constexpr int PIXELS = 1 << 24;
  p.set();
  p.kernel<float>("join_planes", PIXELS * size_t(4), floats, [=] { join_planes<<<PIXELS / 256, 256>>>(in, out, PIXELS); });
  p.kernel<float>("join_vectors", PIXELS * size_t(4), floats, [=] { join_vectors<<<PIXELS / 256, 256>>>(in, reinterpret_cast<float4*>(out), PIXELS); });

  for (int n : {1 << 28, 1 << 25}) {
    bool small = n == 1 << 25;
    auto bytes = [=] { fill(reinterpret_cast<unsigned*>(in), n / 4, [=] __device__(size_t i) { return hashed(unsigned(i), 4); }); };
    p.set();
    p.kernel<unsigned char>(small ? "brighten_bytes-32M" : "brighten_bytes", n, bytes,
                            [=] { brighten_bytes<<<n / 256, 256>>>(reinterpret_cast<unsigned char*>(in), reinterpret_cast<unsigned char*>(out), n); });
    p.kernel<unsigned char>(small ? "brighten_vectors-32M" : "brighten_vectors", n, bytes,
                            [=] { brighten_vectors<<<n / 4096, 256>>>(reinterpret_cast<uint4*>(in), reinterpret_cast<uint4*>(out), n); });
  }

  constexpr int HALVES = 1 << 28;
  __half *half_in = p.in<__half>(), *half_out = p.out<__half>();
  auto halves = [=] { fill(half_in, HALVES, [=] __device__(size_t i) { return __float2half(uniform(unsigned(i), 5)); }); };
  p.set(1e-3);
  p.kernel<__half>("saxpy_half", HALVES, halves, [=] { saxpy_half<<<HALVES / 256, 256>>>(half_in, half_out, 1.5f, HALVES); });
  p.kernel<__half>("saxpy_half8", HALVES, halves, [=] { saxpy_half8<<<HALVES / 2048, 256>>>(reinterpret_cast<uint4*>(in), reinterpret_cast<uint4*>(out), 1.5f, HALVES); });

  {
    constexpr int N = 1 << 20, FRAMES = 64, FEW = 8;
    auto frames = [=](int pitch, int count, int shift) {
      return [=] { fill(in, size_t(pitch) * count, [=] __device__(size_t i) { return int(i % pitch) >= shift ? uniform(unsigned(i % pitch) - shift, unsigned(i / pitch)) : 0.0f; }); };
    };
    p.set(1e-5);
    p.kernel<float>("mean_frames", N, frames(N + 32, FRAMES, 1), [=] { mean_frames<<<N / 256, 256>>>(in, out, N, FRAMES, N + 32, 1); });
    p.kernel<float>("mean_frames_aligned", N, frames(N + 32, FRAMES, 0), [=] { mean_frames_aligned<<<N / 256, 256>>>(in, out, N, FRAMES, N + 32, 1); });
    p.set(1e-5);  // 32 MB, which the L2 holds, read 16 times
    p.kernel<float>("mean_frames-L2", N, frames(N + 32, FEW, 1), [=] { mean_frames<<<N / 256, 256>>>(in, out, N, FEW, N + 32, 16); });
    p.kernel<float>("mean_frames_aligned-L2", N, frames(N + 32, FEW, 0), [=] { mean_frames_aligned<<<N / 256, 256>>>(in, out, N, FEW, N + 32, 16); });
  }

  {
    constexpr int N = 1 << 18, ROWS = 256;
    float* x = p.more<float>();
    auto prepare = [=] { fill_uniform(in, size_t(N) * ROWS, 6); };
    p.set(1e-4);
    p.kernel<float>("columns_in_memory", 2 * N, prepare, [=] { columns_in_memory<<<N / 256, 256>>>(in, out, out + N, ROWS, N); });
    p.kernel<float>("columns_in_register", 2 * N, prepare, [=] { columns_in_register<<<N / 256, 256>>>(in, out, out + N, ROWS, N); });
    constexpr int M = 1 << 25;
    auto weights = [=] {
      fill_uniform(in, M, 6);
      fill_uniform(x, 64, 7);
    };
    p.set(1e-5);
    p.kernel<float>("filter_reloading", M, weights, [=] { filter_reloading<<<M / 2048, 256>>>(in, x, out, M); });
    p.kernel<float>("filter_once", M, weights, [=] { filter_once<<<M / 2048, 256>>>(in, x, out, M); });
  }

  {
    constexpr int N = 1536;
    float* b = p.more<float>();
    auto matrices = [=] {
      fill_uniform(in, N * N, 8);
      fill_uniform(b, N * N, 9);
    };
    p.set(1e-4);
    p.kernel<float>("product_plain", N * N, matrices, [=] { product_plain<<<dim3(N / 32, N / 32), dim3(32, 32)>>>(in, b, out, N); });
    p.kernel<float>("product_rows", N * N, matrices, [=] { product_rows<<<dim3(N / 32, N / 128), dim3(32, 32)>>>(in, b, out, N); });
  }

  constexpr int BLOCKS8 = 1 << 20;
  p.set(1e-4);
  p.kernel<float>("transform_few", BLOCKS8 * size_t(64), floats, [=] { transform_few<<<BLOCKS8 / 256, 256>>>(in, out, BLOCKS8); });
  p.kernel<float>("transform_enough", BLOCKS8 * size_t(64), floats, [=] { transform_enough<<<BLOCKS8 / 256, 256>>>(in, out, BLOCKS8); });

  constexpr int BODIES = SMS * 256 * 8;
  auto bodies = [=] { fill_uniform(in, BODIES * 4, 10); };
  p.set(1e-3);
  p.kernel<float>("attract_squeezed", BODIES * 4, bodies, [=] { attract_squeezed<<<SMS, 256>>>(reinterpret_cast<float4*>(in), reinterpret_cast<float4*>(out), 2048); });
  p.kernel<float>("attract_free", BODIES * 4, bodies, [=] { attract_free<<<SMS, 256>>>(reinterpret_cast<float4*>(in), reinterpret_cast<float4*>(out), 2048); });

  constexpr int BYTES = 1 << 26;
  auto bytes = [=] { fill(reinterpret_cast<unsigned*>(in), BYTES / 4, [=] __device__(size_t i) { return hashed(unsigned(i), 11); }); };
  p.set();
  p.kernel<int>("count_global", 16, bytes, [=] { count_global<<<SMS * 8, 256>>>(reinterpret_cast<unsigned char*>(in), reinterpret_cast<int*>(out), BYTES); });
  p.kernel<int>("count_blocks", 16, bytes, [=] { count_blocks<<<SMS * 8, 256>>>(reinterpret_cast<unsigned char*>(in), reinterpret_cast<int*>(out), BYTES); });

  p.set(1e-2);
  p.kernel<float>("sum_atomics", 1, floats, [=] { sum_atomics<<<(1 << 22) / 256, 256>>>(in, out, 1 << 22); });
  p.kernel<float>("sum_once_a_block", 1, floats, [=] { sum_once_a_block<<<SMS * 8, 256>>>(in, out, 1 << 22); });

  p.set(1e-2);
  p.kernel<float>("sum_vectors", 1, floats, [=] { sum_vectors<<<SMS * 8, 256>>>(reinterpret_cast<float4*>(in), out, 1 << 25); });
  p.set(1e-3);
  p.kernel<float>("orbit", 1 << 20, floats, [=] { orbit<<<(1 << 20) / 256, 256>>>(in, out, 1 << 20); });
  return p.end();
}
