// Kernels of the kinds that textbooks and samples teach: histogram, scan, stencil, sparse product, n-body, convolution, sorting,
// options, partition, product. Each stands beside one that differs by one change.
#include "program.cuh"

// ---- a histogram of a few frequent values: one copy a block in shared memory, then one a warp

template <int COPIES>
__device__ __forceinline__ void count_bytes(const uchar4* __restrict__ in, int* __restrict__ out, int n) {
  __shared__ int bins[COPIES][257];
  for (int i = threadIdx.x; i < COPIES * 257; i += blockDim.x) bins[0][i] = 0;
  __syncthreads();
  int* mine = bins[threadIdx.x / 32 % COPIES];
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    uchar4 v = in[i];
    atomicAdd(&mine[v.x], 1);  // <- histogram_block
    atomicAdd(&mine[v.y], 1);
    atomicAdd(&mine[v.z], 1);
    atomicAdd(&mine[v.w], 1);  // <- histogram_block
  }
  __syncthreads();
  for (int b = threadIdx.x; b < 256; b += blockDim.x) {
    int sum = 0;
#pragma unroll
    for (int c = 0; c < COPIES; ++c) sum += bins[c][b];
    atomicAdd(&out[b], sum);
  }
}

__global__ void histogram_block(const uchar4* in, int* out, int n) { count_bytes<1>(in, out, n); }
__global__ void histogram_warp(const uchar4* in, int* out, int n) { count_bytes<8>(in, out, n); }

// ---- the same frequent values, with 4-byte counters in global memory, then sorted out by the warp before the atomic

__global__ void histogram_global(const unsigned char* __restrict__ in, int* __restrict__ out, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&out[in[i]], 1);  // <- histogram_global
}

__global__ void histogram_shared(const unsigned char* __restrict__ in, int* __restrict__ out, int n) {
  __shared__ int bins[256];
  bins[threadIdx.x] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&bins[in[i]], 1);
  __syncthreads();
  atomicAdd(&out[threadIdx.x], bins[threadIdx.x]);
}

// ---- sums up to each element: doubling steps through shared memory with a barrier each, then shuffles inside of warps

__global__ void scan_steps(const float* __restrict__ in, float* __restrict__ out) {
  __shared__ float two[2][1024];
  int t = threadIdx.x, from = 0;
  size_t i = blockIdx.x * size_t(1024) + t;
  two[0][t] = in[i];
  __syncthreads();
  for (int step = 1; step < 1024; step *= 2) {
    float v = two[from][t];  // <- scan_steps
    if (t >= step) v += two[from][t - step];
    from = 1 - from;
    two[from][t] = v;
    __syncthreads();  // <- scan_steps
  }
  out[i] = two[from][t];
}

__device__ __forceinline__ float scan_in_warp(float v) {
#pragma unroll
  for (int step = 1; step < 32; step *= 2) {
    float other = __shfl_up_sync(~0u, v, step);
    if ((threadIdx.x & 31) >= step) v += other;
  }
  return v;
}

__global__ void scan_shuffles(const float* __restrict__ in, float* __restrict__ out) {
  __shared__ float sums[32];
  int t = threadIdx.x;
  size_t i = blockIdx.x * size_t(1024) + t;
  float v = scan_in_warp(in[i]);
  if (t % 32 == 31) sums[t / 32] = v;
  __syncthreads();
  if (t < 32) sums[t] = scan_in_warp(sums[t]);
  __syncthreads();
  out[i] = t < 32 ? v : v + sums[t / 32 - 1];
}

// ---- the scan by a tree of 2,048 elements: strides of powers of two, then with one word of padding for each 32

template <bool PADDED>
__device__ __forceinline__ int place(int i) { return PADDED ? i + i / 32 : i; }

template <bool PADDED>
__device__ __forceinline__ void scan_by_tree(const float* __restrict__ in, float* __restrict__ out) {
  __shared__ float s[2048 + 64];
  int t = threadIdx.x, apart = 1;
  size_t first = blockIdx.x * size_t(2048);
  s[place<PADDED>(t)] = in[first + t];
  s[place<PADDED>(t + 1024)] = in[first + t + 1024];
  for (int d = 1024; d > 0; d /= 2) {
    __syncthreads();
    if (t < d) s[place<PADDED>(apart * (2 * t + 2) - 1)] += s[place<PADDED>(apart * (2 * t + 1) - 1)];  // <- scan_tree
    apart *= 2;
  }
  if (t == 0) s[place<PADDED>(2047)] = 0;
  for (int d = 1; d < 2048; d *= 2) {
    apart /= 2;
    __syncthreads();
    if (t < d) {
      int a = place<PADDED>(apart * (2 * t + 1) - 1), b = place<PADDED>(apart * (2 * t + 2) - 1);  // <- scan_tree
      float v = s[a];
      s[a] = s[b];
      s[b] += v;  // <- scan_tree
    }
  }
  __syncthreads();
  out[first + t] = s[place<PADDED>(t)];
  out[first + t + 1024] = s[place<PADDED>(t + 1024)];
}

__global__ void scan_tree(const float* in, float* out) { scan_by_tree<false>(in, out); }
__global__ void scan_tree_padded(const float* in, float* out) { scan_by_tree<true>(in, out); }

// ---- heat in three dimensions: neighbouring threads along the slowest dimension, then along the fastest

__device__ __forceinline__ void heat_at(const float* __restrict__ in, float* __restrict__ out, int x, int y, int z, int n) {
  if (x < 1 || y < 1 || z < 1 || x >= n - 1 || y >= n - 1 || z >= n - 1) return;
  size_t i = (size_t(z) * n + y) * n + x, row = n, plane = size_t(n) * n;
  out[i] = 0.4f * in[i] + 0.1f * (in[i - 1] + in[i + 1] + in[i - row] + in[i + row] + in[i - plane] + in[i + plane]);  // <- heat_slowest
}

__global__ void heat_slowest(const float* in, float* out, int n) {
  heat_at(in, out, blockIdx.z, blockIdx.y * blockDim.y + threadIdx.y, blockIdx.x * blockDim.x + threadIdx.x, n);
}

__global__ void heat_fastest(const float* in, float* out, int n) {
  heat_at(in, out, blockIdx.x * blockDim.x + threadIdx.x, blockIdx.y * blockDim.y + threadIdx.y, blockIdx.z, n);
}

// ---- a stencil of radius 8 down the columns of a plane: each tap loaded anew, then kept in registers from row to row

__global__ void taps_reloaded(const float* __restrict__ in, float* __restrict__ out, int width, int rows) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, top = blockIdx.y * rows;
#pragma unroll 1
  for (int y = top; y < top + rows; ++y) {
    float sum = 0;
#pragma unroll
    for (int k = 0; k < 17; ++k) sum += in[size_t(y + k) * width + x];  // <- taps_reloaded
    out[size_t(y) * width + x] = sum;
  }
}

__global__ void taps_queued(const float* __restrict__ in, float* __restrict__ out, int width, int rows) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, top = blockIdx.y * rows;
  float queue[17];
#pragma unroll
  for (int k = 0; k < 16; ++k) queue[k + 1] = in[size_t(top + k) * width + x];
#pragma unroll 1
  for (int y = top; y < top + rows; ++y) {
    float sum = 0;
#pragma unroll
    for (int k = 0; k < 16; ++k) sum += queue[k] = queue[k + 1];
    sum += queue[16] = in[size_t(y + 16) * width + x];
    out[size_t(y) * width + x] = sum;
  }
}

// ---- a sparse matrix times a vector: a row for each thread, then for each warp

__device__ __forceinline__ int row_start(int row, int mean) { return row * mean + static_cast<int>(hashed(row, 7) % (mean / 2)); }

__global__ void spmv_thread(const int* __restrict__ starts, const int* __restrict__ columns, const float* __restrict__ values,
                            const float* __restrict__ x, float* __restrict__ y, int rows) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float sum = 0;
  for (int j = starts[row]; j < starts[row + 1]; ++j) sum += values[j] * x[columns[j]];  // <- spmv_thread
  y[row] = sum;
}

__global__ void spmv_warp(const int* __restrict__ starts, const int* __restrict__ columns, const float* __restrict__ values,
                          const float* __restrict__ x, float* __restrict__ y, int rows) {
  int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  if (row >= rows) return;
  float sum = 0;
  for (int j = starts[row] + lane, end = starts[row + 1]; j < end; j += 32) sum += values[j] * x[columns[j]];  // <- spmv_warp_short
  for (int step = 16; step; step /= 2) sum += __shfl_down_sync(~0u, sum, step);  // <- spmv_warp_short
  if (lane == 0) y[row] = sum;
}

// four lanes a row, for rows of about eight entries
__global__ void spmv_four(const int* __restrict__ starts, const int* __restrict__ columns, const float* __restrict__ values,
                          const float* __restrict__ x, float* __restrict__ y, int rows) {
  int row = (blockIdx.x * blockDim.x + threadIdx.x) / 4, lane = threadIdx.x % 4;
  if (row >= rows) return;
  float sum = 0;
  for (int j = starts[row] + lane, end = starts[row + 1]; j < end; j += 4) sum += values[j] * x[columns[j]];
  sum += __shfl_down_sync(~0u, sum, 2, 4);
  sum += __shfl_down_sync(~0u, sum, 1, 4);
  if (lane == 0) y[row] = sum;
}

// ---- bodies that attract each other: literals and a root in double precision, then in single; few blocks, then more

template <typename T>
__device__ __forceinline__ float3 pull(float4 a, float4 b, float3 sum) {
  float x = b.x - a.x, y = b.y - a.y, z = b.z - a.z;
  T square = x * x + y * y + z * z + T(0.01);  // <- bodies_double
  T near = rsqrt(square);  // <- bodies_double
  float force = b.w * near * near * near;  // <- bodies_double
  return make_float3(sum.x + x * force, sum.y + y * force, sum.z + z * force);
}

template <typename T, bool SPLIT>
__device__ __forceinline__ void move_bodies(const float4* __restrict__ in, float* __restrict__ out, int n) {
  __shared__ float4 tile[128];
  int i = blockIdx.x * 128 + threadIdx.x;
  float4 me = in[i];
  float3 sum = make_float3(0, 0, 0);
  int parts = SPLIT ? gridDim.y : 1;
  for (int first = SPLIT ? blockIdx.y * (n / parts) : 0, end = first + n / parts; first < end; first += 128) {
    tile[threadIdx.x] = in[first + threadIdx.x];
    __syncthreads();
#pragma unroll 8
    for (int j = 0; j < 128; ++j) sum = pull<T>(me, tile[j], sum);
    __syncthreads();
  }
  if (SPLIT) {
    atomicAdd(&out[i], sum.x);
    atomicAdd(&out[i + n], sum.y);
    atomicAdd(&out[i + 2 * n], sum.z);
  } else {
    out[i] = sum.x;
    out[i + n] = sum.y;
    out[i + 2 * n] = sum.z;
  }
}

__global__ void bodies_double(const float4* in, float* out, int n) { move_bodies<double, false>(in, out, n); }
__global__ void bodies_single(const float4* in, float* out, int n) { move_bodies<float, false>(in, out, n); }
__global__ void bodies_split(const float4* in, float* out, int n) { move_bodies<float, true>(in, out, n); }

// ---- a separable convolution down columns: the tile's rows end in the same bank, then with one word of padding

__constant__ float kernel_weights[17];

template <int HEIGHT>
__device__ __forceinline__ void convolve_down(const float* __restrict__ in, float* __restrict__ out, int width, int height) {
  __shared__ float s[16][HEIGHT];
  int x = blockIdx.x * 16 + threadIdx.x, top = blockIdx.y * 64 - 8;
  for (int y = threadIdx.y; y < 80; y += 8) {
    int row = min(max(top + y, 0), height - 1);
    s[threadIdx.x][y] = in[size_t(row) * width + x];  // <- convolve_columns
  }
  __syncthreads();
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    int y = threadIdx.y + i * 8;
    float sum = 0;
#pragma unroll
    for (int k = 0; k < 17; ++k) sum += kernel_weights[k] * s[threadIdx.x][y + k];  // <- convolve_columns
    out[size_t(blockIdx.y * 64 + y) * width + x] = sum;
  }
}

__global__ void convolve_columns(const float* in, float* out, int width, int height) { convolve_down<80>(in, out, width, height); }
__global__ void convolve_columns_padded(const float* in, float* out, int width, int height) { convolve_down<81>(in, out, width, height); }

// ---- pieces of 1,024 sorted by a bitonic network: every step through shared memory, then short steps by shuffles

__global__ void bitonic_shared(const float* __restrict__ in, float* __restrict__ out) {
  __shared__ float s[1024];
  int t = threadIdx.x;
  size_t i = blockIdx.x * size_t(1024) + t;
  s[t] = in[i];
  __syncthreads();
  for (int size = 2; size <= 1024; size *= 2)
    for (int apart = size / 2; apart; apart /= 2) {
      float mine = s[t], other = s[t ^ apart];  // <- bitonic_shared
      bool up = (t & size) == 0, low = (t & apart) == 0;
      __syncthreads();  // <- bitonic_shared
      s[t] = up == low ? fminf(mine, other) : fmaxf(mine, other);  // <- bitonic_shared
      __syncthreads();  // <- bitonic_shared
    }
  out[i] = s[t];
}

__global__ void bitonic_shuffles(const float* __restrict__ in, float* __restrict__ out) {
  __shared__ float s[1024];
  int t = threadIdx.x;
  size_t i = blockIdx.x * size_t(1024) + t;
  float mine = in[i];
  for (int size = 2; size <= 1024; size *= 2)
    for (int apart = size / 2; apart; apart /= 2) {
      float other;
      if (apart >= 32) {
        __syncthreads();
        s[t] = mine;
        __syncthreads();
        other = s[t ^ apart];
      } else {
        other = __shfl_xor_sync(~0u, mine, apart);
      }
      bool up = (t & size) == 0, low = (t & apart) == 0;
      mine = up == low ? fminf(mine, other) : fmaxf(mine, other);
    }
  out[i] = mine;
}

// ---- pieces of 512 sorted by odd and even exchanges: every second thread works, then all of half as many

__device__ __forceinline__ void order(float& a, float& b) {
  float low = fminf(a, b), high = fmaxf(a, b);
  a = low;
  b = high;
}

__global__ void odd_even_half(const float* __restrict__ in, float* __restrict__ out) {
  __shared__ float s[512];
  int t = threadIdx.x;
  s[t] = in[blockIdx.x * 512 + t];
  for (int phase = 0; phase < 512; ++phase) {
    __syncthreads();
    if (t % 2 == phase % 2 && t < 511) order(s[t], s[t + 1]);  // <- odd_even_half
  }
  __syncthreads();
  out[blockIdx.x * 512 + t] = s[t];
}

__global__ void odd_even_all(const float* __restrict__ in, float* __restrict__ out) {
  __shared__ float s[512];
  int t = threadIdx.x;
  s[t] = in[blockIdx.x * 512 + t];
  s[t + 256] = in[blockIdx.x * 512 + t + 256];
  for (int phase = 0; phase < 512; ++phase) {
    __syncthreads();
    int a = 2 * t + phase % 2;
    if (a < 511) order(s[a], s[a + 1]);
  }
  __syncthreads();
  out[blockIdx.x * 512 + t] = s[t];
  out[blockIdx.x * 512 + t + 256] = s[t + 256];
}

// ---- options at eight strikes each: literals in double precision, then precise functions of floats, then fast ones

struct Precise {
  static __device__ float log(float x) { return logf(x); }
  static __device__ float exp(float x) { return expf(x); }
  static __device__ float over(float x, float y) { return x / y; }
  static __device__ float root(float x) { return sqrtf(x); }
};
struct Fast {
  static __device__ float log(float x) { return __logf(x); }
  static __device__ float exp(float x) { return __expf(x); }
  static __device__ float over(float x, float y) { return __fdividef(x, y); }
  static __device__ float root(float x) { return x * rsqrtf(x); }
};

template <typename F, typename T>
__device__ __forceinline__ float normal(float d) {
  float k = F::over(1.0f, T(1.0) + T(0.2316419) * fabsf(d));  // <- options_double
  float tail = T(0.39894228) * F::exp(-0.5f * d * d) * (k * (T(0.31938153) + k * (T(-0.356563782) + k * (T(1.781477937) + k * (T(-1.821255978) + k * T(1.330274429))))));  // <- options_double
  return d > 0 ? 1.0f - tail : tail;
}

template <typename F, typename T>
__device__ __forceinline__ void price_options(const float* __restrict__ in, float* __restrict__ out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float spot = 50 + 100 * in[i], years = 0.25f + in[i + n], sum = 0;
#pragma unroll 1
  for (int k = 0; k < 8; ++k) {
    float strike = 60 + 10 * k, spread = 0.3f * F::root(years);
    float d = F::over(F::log(F::over(spot, strike)) + 0.065f * years, spread);  // <- options_precise
    sum += spot * normal<F, T>(d) - strike * F::exp(-0.02f * years) * normal<F, T>(d - spread);  // <- options_double
  }
  out[i] = sum;
}

__global__ void options_double(const float* in, float* out, int n) { price_options<Precise, double>(in, out, n); }
__global__ void options_precise(const float* in, float* out, int n) { price_options<Precise, float>(in, out, n); }
__global__ void options_fast(const float* in, float* out, int n) { price_options<Fast, float>(in, out, n); }

// ---- numbers parted by their lowest three bits: a place from one of eight counters for each, then for each block

__global__ void partition_each(const int* __restrict__ in, int* __restrict__ counts, int* __restrict__ parts, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, v = in[i], part = v & 7;
  int at = atomicAdd(&counts[part], 1);  // <- partition_each
  parts[size_t(part) * n + at] = v;
}

__global__ void partition_blocks(const int* __restrict__ in, int* __restrict__ counts, int* __restrict__ parts, int n) {
  __shared__ int taken[8], first[8];
  if (threadIdx.x < 8) taken[threadIdx.x] = 0;
  __syncthreads();
  int i = blockIdx.x * blockDim.x + threadIdx.x, v = in[i], part = v & 7;
  int at = atomicAdd(&taken[part], 1);
  __syncthreads();
  if (threadIdx.x < 8) first[threadIdx.x] = atomicAdd(&counts[threadIdx.x], taken[threadIdx.x]);
  __syncthreads();
  parts[size_t(part) * n + first[part] + at] = v;
}

// ---- a product of matrices by tiles of 32 x 32: B's tile read down its columns, stored so that lanes share a bank, both, neither

template <bool DOWN, bool CONFLICTS>
__device__ __forceinline__ void multiply_tiles(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int n) {
  __shared__ float left[32][32], right[32][33 - CONFLICTS];
  int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 32 + y, column = blockIdx.x * 32 + x;
  float sum = 0;
  for (int k = 0; k < n; k += 32) {
    left[y][x] = a[size_t(row) * n + k + x];
    if (DOWN)
      right[y][x] = b[size_t(k + x) * n + blockIdx.x * 32 + y];  // <- multiply_down
    else
      right[x][y] = b[size_t(k + y) * n + column];
    __syncthreads();
#pragma unroll
    for (int j = 0; j < 32; ++j) sum += left[y][j] * right[x][j];  // <- multiply_conflicts
    __syncthreads();
  }
  c[size_t(row) * n + column] = sum;
}

__global__ void multiply_down(const float* a, const float* b, float* c, int n) { multiply_tiles<true, false>(a, b, c, n); }
__global__ void multiply_conflicts(const float* a, const float* b, float* c, int n) { multiply_tiles<false, true>(a, b, c, n); }
__global__ void multiply_both(const float* a, const float* b, float* c, int n) { multiply_tiles<true, true>(a, b, c, n); }
__global__ void multiply_neither(const float* a, const float* b, float* c, int n) { multiply_tiles<false, false>(a, b, c, n); }

// ---- rows of pixels smoothed as compiled scripts do: 64-bit places, strides and negative indices in each access, then plain places

struct Array {
  const float* data;
  long long rows, columns, row_stride, column_stride;
  __device__ float at(long long i, long long j) const {
    i += i < 0 ? rows : 0;  // <- smooth_wrapped
    j += j < 0 ? columns : 0;  // <- smooth_wrapped
    return *reinterpret_cast<const float*>(reinterpret_cast<const char*>(data) + i * row_stride + j * column_stride);  // <- smooth_wrapped
  }
};

__global__ void smooth_wrapped(Array in, float* __restrict__ out) {
  long long i = blockIdx.y * static_cast<long long>(blockDim.y) + threadIdx.y, j = blockIdx.x * static_cast<long long>(blockDim.x) + threadIdx.x;
  if (i < 1 || j < 1 || i >= in.rows - 1 || j >= in.columns - 1) return;
  float sum = 0;
#pragma unroll 1
  for (int k = 0; k < 16; ++k)
    sum += 0.25f * (in.at(i - 1, (j + k) % in.columns) + in.at(i + 1, (j + k) % in.columns) + in.at(i, (j + k - 1) % in.columns) + in.at(i, (j + k + 1) % in.columns));  // <- smooth_wrapped
  out[i * in.columns + j] = sum;
}

__global__ void smooth_plain(const float* __restrict__ in, float* __restrict__ out, int rows, int columns) {
  int i = blockIdx.y * blockDim.y + threadIdx.y, j = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < 1 || j < 1 || i >= rows - 1 || j >= columns - 1) return;
  float sum = 0;
#pragma unroll 1
  for (int k = 0; k < 16; ++k) {
    int u = j + k < columns ? j + k : j + k - columns, left = u ? u - 1 : columns - 1, right = u + 1 < columns ? u + 1 : 0;
    sum += 0.25f * (in[(i - 1) * columns + u] + in[(i + 1) * columns + u] + in[i * columns + left] + in[i * columns + right]);
  }
  out[i * columns + j] = sum;
}

// ---- a loop with the stride of the grid, launched with few blocks, then with enough

__global__ void soften(const float* __restrict__ in, float* __restrict__ out, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) out[i] = in[i] / (1.0f + fabsf(in[i]));  // <- soften
}

// ---- a random step for each thread, whose generator works in double precision, then in single

__global__ void paths_double(float* __restrict__ out, int n, int steps) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned state = hashed(i, 3);
  float at = 0;
  for (int k = 0; k < steps; ++k) {
    state = state * 1664525u + 1013904223u;
    at = at * 0.99 + (state >> 8) * (1.0 / 16777216.0) - 0.5;  // <- paths_double
  }
  out[i] = at;
}

__global__ void paths_single(float* __restrict__ out, int n, int steps) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned state = hashed(i, 3);
  float at = 0;
  for (int k = 0; k < steps; ++k) {
    state = state * 1664525u + 1013904223u;
    at = at * 0.99f + (state >> 8) * (1.0f / 16777216.0f) - 0.5f;
  }
  out[i] = at;
}

// ---- multiply_down with 8 x 8 results a thread: tiles of 128 x 128 results, B's still read down its columns

__global__ void __launch_bounds__(256) multiply_down_in_registers(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int n) {
  __shared__ float left[128][36], right[128][36];
  int x = threadIdx.x % 32, y = threadIdx.x / 32, column = threadIdx.x % 16, row = threadIdx.x / 16;
  float sum[8][8] = {};
  for (int k = 0; k < n; k += 32) {
#pragma unroll
    for (int part = 0; part < 128; part += 8) {
      left[part + y][x] = a[size_t(blockIdx.y * 128 + part + y) * n + k + x];
      right[part + y][x] = b[size_t(k + x) * n + blockIdx.x * 128 + part + y];
    }
    __syncthreads();
#pragma unroll 1
    for (int j = 0; j < 32; j += 4) {
      float4 of_a[8], of_b[8];
#pragma unroll
      for (int r = 0; r < 8; ++r) of_a[r] = *reinterpret_cast<const float4*>(&left[row + 16 * r][j]);
#pragma unroll
      for (int s = 0; s < 8; ++s) of_b[s] = *reinterpret_cast<const float4*>(&right[column + 16 * s][j]);
#pragma unroll
      for (int r = 0; r < 8; ++r)
#pragma unroll
        for (int s = 0; s < 8; ++s) sum[r][s] += of_a[r].x * of_b[s].x + of_a[r].y * of_b[s].y + of_a[r].z * of_b[s].z + of_a[r].w * of_b[s].w;
    }
    __syncthreads();
  }
#pragma unroll
  for (int r = 0; r < 8; ++r)
#pragma unroll
    for (int s = 0; s < 8; ++s) c[size_t(blockIdx.y * 128 + row + 16 * r) * n + blockIdx.x * 128 + column + 16 * s] = sum[r][s];
}

// ---- a product straight from global memory as compiled scripts do: 64-bit places that may be negative; then plain places; then through tiles

struct Matrix {
  const float* data;
  long long rows, columns;
  __device__ float at(long long i, long long j) const {
    i += i < 0 ? rows : 0;
    j += j < 0 ? columns : 0;
    return data[i * columns + j];
  }
};

// A place of a thread, of which the compiler does not know that it is not negative.
__device__ __forceinline__ long long place_x() {
  int thread;
  asm("mov.u32 %0, %%tid.x;" : "=r"(thread));
  return static_cast<long long>(blockIdx.x) * blockDim.x + thread;
}

__device__ __forceinline__ long long place_y() {
  int thread;
  asm("mov.u32 %0, %%tid.y;" : "=r"(thread));
  return static_cast<long long>(blockIdx.y) * blockDim.y + thread;
}

__global__ void product_wrapped(Matrix a, Matrix b, float* c, long long first) {
  long long i = place_y(), j = place_x();
  float sum = 0;
  for (long long k = first; k < a.columns; ++k) sum += a.at(i, k) * b.at(k, j);
  c[i * b.columns + j] = sum;
}

__global__ void product_plain(const float* a, const float* b, float* c, int inner, int columns) {
  int i = blockIdx.y * blockDim.y + threadIdx.y, j = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < inner; ++k) sum += a[i * inner + k] * b[k * columns + j];
  c[i * columns + j] = sum;
}

__global__ void product_wrapped_tiles(Matrix a, Matrix b, float* c, long long first) {
  __shared__ float left[32][32], right[32][32];
  long long i = place_y(), j = place_x();
  int x = threadIdx.x, y = threadIdx.y;
  float sum = 0;
  for (; first < a.columns; first += 32) {
    left[y][x] = a.at(i, first + x);
    right[y][x] = b.at(first + y, j);
    __syncthreads();
    for (int k = 0; k < 32; ++k) sum += left[y][k] * right[k][x];
    __syncthreads();
  }
  c[i * b.columns + j] = sum;
}

int main(int argc, char** argv) {
  Program p(argc, argv);
  float *in = p.in<float>(), *more = p.more<float>(), *out = p.out<float>();
  int* counts = p.out<int>();
  auto nothing = [] {};
  auto floats = [=](size_t n) { return [=] { fill_uniform(in, n, 1); }; };

  constexpr int BYTES = 64 << 20;
  auto bytes = [&] {  // half of them are the same
    fill(p.in<unsigned char>(), BYTES, [] __device__(size_t i) { return static_cast<unsigned char>(hashed(i, 1) & 1 ? 7 : hashed(i, 2)); });
  };
  p.set();
  p.kernel<int>("histogram_block", 256, bytes, [&] { histogram_block<<<SMS * 4, 256>>>(p.in<uchar4>(), counts, BYTES / 4); });
  p.kernel<int>("histogram_warp", 256, bytes, [&] { histogram_warp<<<SMS * 4, 256>>>(p.in<uchar4>(), counts, BYTES / 4); });
  p.set();
  p.kernel<int>("histogram_global", 256, bytes, [&] { histogram_global<<<SMS * 8, 256>>>(p.in<unsigned char>(), counts, BYTES / 4); });
  p.kernel<int>("histogram_shared", 256, bytes, [&] { histogram_shared<<<SMS * 8, 256>>>(p.in<unsigned char>(), counts, BYTES / 4); });

  p.set(1e-4);
  p.kernel<float>("scan_steps", 8 << 20, floats(8 << 20), [=] { scan_steps<<<8192, 1024>>>(in, out); });
  p.kernel<float>("scan_shuffles", 8 << 20, floats(8 << 20), [=] { scan_shuffles<<<8192, 1024>>>(in, out); });
  p.set(1e-4);
  p.kernel<float>("scan_tree", 8 << 20, floats(8 << 20), [=] { scan_tree<<<4096, 1024>>>(in, out); });
  p.kernel<float>("scan_tree_padded", 8 << 20, floats(8 << 20), [=] { scan_tree_padded<<<4096, 1024>>>(in, out); });

  for (int n : {512, 128}) {
    std::string size = "-" + std::to_string(n);
    dim3 grid(n / 32, n / 8, n), block(32, 8);
    p.set(1e-5);
    p.kernel<float>(("heat_slowest" + size).c_str(), size_t(n) * n * n, floats(size_t(n) * n * n), [=] { heat_slowest<<<grid, block>>>(in, out, n); });
    p.kernel<float>(("heat_fastest" + size).c_str(), size_t(n) * n * n, floats(size_t(n) * n * n), [=] { heat_fastest<<<grid, block>>>(in, out, n); });
  }
  p.set(1e-5);
  p.kernel<float>("taps_reloaded", 4096 * 8192, floats(4096 * 8208), [=] { taps_reloaded<<<dim3(16, 128), 256>>>(in, out, 4096, 64); });
  p.kernel<float>("taps_queued", 4096 * 8192, floats(4096 * 8208), [=] { taps_queued<<<dim3(16, 128), 256>>>(in, out, 4096, 64); });

  int *starts = p.more<int>(), *columns = p.more<int>(64 * MB);
  float* x = p.more<float>(512 * MB);
  auto sparse = [=](int rows, int mean) {
    return [=] {
      fill(starts, rows + 1, [=] __device__(size_t i) { return row_start(static_cast<int>(i), mean); });
      fill(columns, (size_t(rows) + 2) * mean, [=] __device__(size_t i) { return static_cast<int>((i / mean + hashed(i, 4) % 4096) % rows); });
      fill_uniform(in, (size_t(rows) + 2) * mean, 1);
      fill_uniform(x, rows, 2);
    };
  };
  constexpr int LONG = 256 << 10, SHORT = 2 << 20;
  p.set(1e-4);
  p.kernel<float>("spmv_thread", LONG, sparse(LONG, 64), [=] { spmv_thread<<<LONG / 128, 128>>>(starts, columns, in, x, out, LONG); });
  p.kernel<float>("spmv_warp", LONG, sparse(LONG, 64), [=] { spmv_warp<<<LONG / 4, 128>>>(starts, columns, in, x, out, LONG); });
  p.set(1e-4);
  p.kernel<float>("spmv_warp_short", SHORT, sparse(SHORT, 8), [=] { spmv_warp<<<SHORT / 4, 128>>>(starts, columns, in, x, out, SHORT); });
  p.kernel<float>("spmv_four", SHORT, sparse(SHORT, 8), [=] { spmv_four<<<SHORT / 32, 128>>>(starts, columns, in, x, out, SHORT); });

  for (int n : {16384, 65536}) {
    std::string size = "-" + std::to_string(n / 1024) + "K";
    const float4* bodies = p.in<float4>();
    p.set(1e-3);
    p.kernel<float>(("bodies_double" + size).c_str(), 3 * n, floats(4 * n), [=] { bodies_double<<<n / 128, 128>>>(bodies, out, n); });
    p.kernel<float>(("bodies_single" + size).c_str(), 3 * n, floats(4 * n), [=] { bodies_single<<<n / 128, 128>>>(bodies, out, n); });
    if (n == 16384) p.kernel<float>("bodies_split-16K", 3 * n, floats(4 * n), [=] { bodies_split<<<dim3(n / 128, 16), 128>>>(bodies, out, n); });
  }

  auto picture = [=] {
    float weights[17];
    for (int k = 0; k < 17; ++k) weights[k] = 1.0f / (1 + (k - 8) * (k - 8));
    CHECK(cudaMemcpyToSymbol(kernel_weights, weights, sizeof weights));
    fill_uniform(in, 4096 * 4096, 1);
  };
  p.set(1e-5);
  p.kernel<float>("convolve_columns", 4096 * 4096, picture, [=] { convolve_columns<<<dim3(256, 64), dim3(16, 8)>>>(in, out, 4096, 4096); });
  p.kernel<float>("convolve_columns_padded", 4096 * 4096, picture, [=] { convolve_columns_padded<<<dim3(256, 64), dim3(16, 8)>>>(in, out, 4096, 4096); });

  p.set();
  p.kernel<float>("bitonic_shared", 4 << 20, floats(4 << 20), [=] { bitonic_shared<<<4096, 1024>>>(in, out); });
  p.kernel<float>("bitonic_shuffles", 4 << 20, floats(4 << 20), [=] { bitonic_shuffles<<<4096, 1024>>>(in, out); });
  p.set();
  p.kernel<float>("odd_even_half", 1 << 20, floats(1 << 20), [=] { odd_even_half<<<2048, 512>>>(in, out); });
  p.kernel<float>("odd_even_all", 1 << 20, floats(1 << 20), [=] { odd_even_all<<<2048, 256>>>(in, out); });

  constexpr int OPTIONS = 2 << 20;
  p.set(1e-3);
  p.kernel<float>("options_double", OPTIONS, floats(2 * OPTIONS), [=] { options_double<<<OPTIONS / 256, 256>>>(in, out, OPTIONS); });
  p.kernel<float>("options_precise", OPTIONS, floats(2 * OPTIONS), [=] { options_precise<<<OPTIONS / 256, 256>>>(in, out, OPTIONS); });
  p.kernel<float>("options_fast", OPTIONS, floats(2 * OPTIONS), [=] { options_fast<<<OPTIONS / 256, 256>>>(in, out, OPTIONS); });

  constexpr int PARTED = 16 << 20;
  auto numbers = [&] { fill(p.in<int>(), PARTED, [] __device__(size_t i) { return static_cast<int>(hashed(i, 1)); }); };
  p.set();
  p.kernel<int>("partition_each", 8, numbers, [&] { partition_each<<<PARTED / 256, 256>>>(p.in<int>(), counts, p.more<int>(), PARTED); });
  p.kernel<int>("partition_blocks", 8, numbers, [&] { partition_blocks<<<PARTED / 256, 256>>>(p.in<int>(), counts, p.more<int>(), PARTED); });

  constexpr int N = 2048;
  auto matrices = [=] {
    fill_uniform(in, N * N, 1);
    fill_uniform(more, N * N, 2);
  };
  dim3 tiles(N / 32, N / 32), tile(32, 32);
  p.set(1e-3);
  p.kernel<float>("multiply_down", N * N, matrices, [=] { multiply_down<<<tiles, tile>>>(in, more, out, N); });
  p.kernel<float>("multiply_conflicts", N * N, matrices, [=] { multiply_conflicts<<<tiles, tile>>>(in, more, out, N); });
  p.kernel<float>("multiply_both", N * N, matrices, [=] { multiply_both<<<tiles, tile>>>(in, more, out, N); });
  p.kernel<float>("multiply_neither", N * N, matrices, [=] { multiply_neither<<<tiles, tile>>>(in, more, out, N); });

  constexpr int SIDE = 4096;
  Array array = {in, SIDE, SIDE, SIDE * 4, 4};
  dim3 pixels(SIDE / 32, SIDE / 8), few(32, 8);
  p.set(1e-5);
  p.kernel<float>("smooth_wrapped", SIDE * SIDE, floats(SIDE * SIDE), [=] { smooth_wrapped<<<pixels, few>>>(array, out); });
  p.kernel<float>("smooth_plain", SIDE * SIDE, floats(SIDE * SIDE), [=] { smooth_plain<<<pixels, few>>>(in, out, SIDE, SIDE); });

  constexpr int SOFT = 16 << 20;
  p.set(1e-5);
  p.kernel<float>("soften-32", SOFT, floats(SOFT), [=] { soften<<<32, 128>>>(in, out, SOFT); });
  p.kernel<float>("soften-1056", SOFT, floats(SOFT), [=] { soften<<<SMS * 8, 256>>>(in, out, SOFT); });

  constexpr int PATHS = SMS * 2048;
  p.set(1e-3);
  p.kernel<float>("paths_double", PATHS, nothing, [=] { paths_double<<<PATHS / 256, 256>>>(out, PATHS, 1024); });
  p.kernel<float>("paths_single", PATHS, nothing, [=] { paths_single<<<PATHS / 256, 256>>>(out, PATHS, 1024); });

  p.set(1e-3);
  p.kernel<float>("multiply_down-again", N * N, matrices, [=] { multiply_down<<<tiles, tile>>>(in, more, out, N); });
  p.kernel<float>("multiply_neither-again", N * N, matrices, [=] { multiply_neither<<<tiles, tile>>>(in, more, out, N); });
  p.kernel<float>("multiply_down_in_registers", N * N, matrices, [=] { multiply_down_in_registers<<<dim3(N / 128, N / 128), 256>>>(in, more, out, N); });

  constexpr int EDGE = 1024;
  Matrix of_left = {in, EDGE, EDGE}, of_right = {more, EDGE, EDGE};
  dim3 products(EDGE / 32, EDGE / 32);
  p.set(1e-3);
  p.kernel<float>("product_wrapped", EDGE * EDGE, matrices, [=] { product_wrapped<<<products, tile>>>(of_left, of_right, out, 0); });
  p.kernel<float>("product_wrapped_tiles", EDGE * EDGE, matrices, [=] { product_wrapped_tiles<<<products, tile>>>(of_left, of_right, out, 0); });
  p.kernel<float>("product_plain-1024", EDGE * EDGE, matrices, [=] { product_plain<<<products, tile>>>(in, more, out, EDGE, EDGE); });
  return p.end();
}
