// Kernels of the kinds that samples and old benchmarks hold, written and labelled before the diagnosis had seen any of them:
// fractals, clusters, graphs, alignment, triangles, forces, life, medians, integration, attention, small matrices, search.
#include <cuda_fp16.h>

#include "program.cuh"

// ---- a Julia set in floats, with literals in double precision, then in single

template <typename T>
__device__ __forceinline__ int escape(float x, float y) {
  int k = 0;
  while (k < 200 && x * x + y * y < T(4.0)) {  // <- julia_literals
    float next = x * x - y * y - T(0.8);
    y = T(2.0) * x * y + T(0.156);
    x = next;  // <- julia_literals
    ++k;
  }
  return k;
}

template <typename T>
__device__ __forceinline__ void julia(int* __restrict__ out, int width, int height) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y;
  out[j * width + i] = escape<T>(3.0f * i / width - 1.5f, 2.0f * j / height - 1.0f);
}

__global__ void julia_literals(int* out, int width, int height) { julia<double>(out, width, height); }
__global__ void julia_floats(int* out, int width, int height) { julia<float>(out, width, height); }

// ---- sums of the points of each of 16 clusters: atomics in global memory, then a copy for each block

__global__ void centres_global(const float2* __restrict__ points, const int* __restrict__ cluster, float* __restrict__ sums, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    int c = cluster[i];
    float2 p = points[i];
    atomicAdd(&sums[c * 3], p.x);  // <- centres_global
    atomicAdd(&sums[c * 3 + 1], p.y);
    atomicAdd(&sums[c * 3 + 2], 1.0f);  // <- centres_global
  }
}

__global__ void centres_shared(const float2* __restrict__ points, const int* __restrict__ cluster, float* __restrict__ sums, int n) {
  __shared__ float mine[8][48];
  for (int i = threadIdx.x; i < 8 * 48; i += blockDim.x) mine[0][i] = 0;
  __syncthreads();
  float* copy = mine[threadIdx.x / 32 % 8];
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    int c = cluster[i];
    float2 p = points[i];
    atomicAdd(&copy[c * 3], p.x);
    atomicAdd(&copy[c * 3 + 1], p.y);
    atomicAdd(&copy[c * 3 + 2], 1.0f);
  }
  __syncthreads();
  if (threadIdx.x < 48) {
    float sum = 0;
    for (int k = 0; k < 8; ++k) sum += mine[k][threadIdx.x];
    atomicAdd(&sums[threadIdx.x], sum);
  }
}

// ---- one step through a graph: a vertex for each thread, then for each warp

__host__ __device__ inline int degree_of(unsigned v) { return hashed(v, 5) % 16 ? 8 : 8 + hashed(v, 6) % 256; }

__global__ void visit_thread(const int* __restrict__ starts, const int* __restrict__ edges, const int* __restrict__ levels, int* __restrict__ out, int n) {
  int v = blockIdx.x * blockDim.x + threadIdx.x;
  if (v >= n) return;
  int best = 1 << 30;
  for (int e = starts[v], end = starts[v + 1]; e < end; ++e) best = min(best, levels[edges[e]]);  // <- visit_thread
  out[v] = best + 1;
}

__global__ void visit_warp(const int* __restrict__ starts, const int* __restrict__ edges, const int* __restrict__ levels, int* __restrict__ out, int n) {
  int v = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  if (v >= n) return;
  int best = 1 << 30;
  for (int e = starts[v] + lane, end = starts[v + 1]; e < end; e += 32) best = min(best, levels[edges[e]]);
  best = __reduce_min_sync(~0u, best);
  if (lane == 0) out[v] = best + 1;
}

// ---- the nearest of four centres for points of 16 dimensions: dimensions beside each other, then points

template <bool BESIDE>
__device__ __forceinline__ void find_nearest(const float* __restrict__ points, const float* __restrict__ centres, int* __restrict__ out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float best = INFINITY;
  int which = 0;
  for (int c = 0; c < 4; ++c) {
    float sum = 0;
    for (int d = 0; d < 16; ++d) {
      float x = points[BESIDE ? size_t(d) * n + i : size_t(i) * 16 + d] - centres[c * 16 + d];  // <- nearest_records
      sum += x * x;
    }
    if (sum < best) best = sum, which = c;
  }
  out[i] = which;
}

__global__ void nearest_records(const float* points, const float* centres, int* out, int n) { find_nearest<false>(points, centres, out, n); }
__global__ void nearest_planes(const float* points, const float* centres, int* out, int n) { find_nearest<true>(points, centres, out, n); }

// ---- scores of two strings: a column for each thread with a barrier for each diagonal, then four columns for each lane of a warp

__global__ void align_block(const unsigned char* __restrict__ a, const unsigned char* __restrict__ b, int* __restrict__ out, int rows) {
  __shared__ int last[129], before[129];
  int t = threadIdx.x, left = 0, up = 0, corner = 0, best = 0;
  a += blockIdx.x * size_t(rows);
  unsigned char mine = b[blockIdx.x * 128 + t];
  last[t + 1] = before[t + 1] = 0;
  if (t == 0) last[0] = before[0] = 0;
  __syncthreads();
  for (int d = 0; d < rows + 128; ++d) {
    int row = d - t;
    if (row >= 0 && row < rows) {
      left = last[t];  // <- align_block
      corner = before[t];
      up = max(0, max(max(left, up) - 2, corner + (a[row] == mine ? 3 : -1)));
      best = max(best, up);
    }
    __syncthreads();
    if (row >= 0 && row < rows) {
      before[t + 1] = last[t + 1];
      last[t + 1] = up;
    }
    __syncthreads();  // <- align_block
  }
  atomicMax(&out[blockIdx.x], best);
}

__global__ void align_warp(const unsigned char* __restrict__ a, const unsigned char* __restrict__ b, int* __restrict__ out, int rows) {
  int lane = threadIdx.x % 32, pair = (blockIdx.x * blockDim.x + threadIdx.x) / 32, best = 0, corner = 0;
  a += pair * size_t(rows);
  uchar4 letters = reinterpret_cast<const uchar4*>(b)[pair * 32 + lane];
  unsigned char mine[4] = {letters.x, letters.y, letters.z, letters.w};
  int column[4] = {};
  for (int d = 0; d < rows + 32; ++d) {
    int row = d - lane, left = __shfl_up_sync(~0u, column[3], 1);
    if (lane == 0) left = 0;
    if (row >= 0 && row < rows) {
      unsigned char letter = a[row];
      int diagonal = corner, beside = left;
      corner = left;
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        int old = column[k];
        column[k] = max(0, max(max(beside, old) - 2, diagonal + (letter == mine[k] ? 3 : -1)));
        diagonal = old;
        beside = column[k];
        best = max(best, column[k]);
      }
    }
  }
  best = __reduce_max_sync(~0u, best);
  if (lane == 0) out[pair] = best;
}

// ---- a lower triangle times a vector: a run of rows for each block, then every 528th row

template <bool IN_TURN>
__device__ __forceinline__ void multiply_triangle(const float* __restrict__ a, const float* __restrict__ x, float* __restrict__ y, int n) {
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32, each = n / gridDim.x;
  for (int k = warp; k < each; k += 8) {  // <- triangle_runs
    int row = IN_TURN ? k * gridDim.x + blockIdx.x : blockIdx.x * each + k;
    float sum = 0;
    for (int j = lane; j <= row; j += 32) sum += a[size_t(row) * n + j] * x[j];
    for (int step = 16; step; step /= 2) sum += __shfl_down_sync(~0u, sum, step);
    if (lane == 0) y[row] = sum;  // <- triangle_runs
  }
}

__global__ void triangle_runs(const float* a, const float* x, float* y, int n) { multiply_triangle<false>(a, x, y, n); }
__global__ void triangle_turns(const float* a, const float* x, float* y, int n) { multiply_triangle<true>(a, x, y, n); }

// ---- forces between atoms: powers by powf, then by multiplication

template <bool POWERS>
__device__ __forceinline__ void push_atoms(const float4* __restrict__ atoms, float4* __restrict__ out, int n) {
  __shared__ float4 tile[256];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float4 me = atoms[i], sum = make_float4(0, 0, 0, 0);
  for (int first = 0; first < n; first += 256) {
    __syncthreads();
    tile[threadIdx.x] = atoms[first + threadIdx.x];
    __syncthreads();
#pragma unroll 4
    for (int j = 0; j < 256; ++j) {
      float4 it = tile[j];
      float x = me.x - it.x, y = me.y - it.y, z = me.z - it.z, square = x * x + y * y + z * z + 0.1f, force;
      if (POWERS) {
        force = powf(square, -7.0f) - 0.5f * powf(square, -4.0f);  // <- atoms_powf
      } else {
        float one = __fdividef(1.0f, square), two = one * one, four = two * two;
        force = four * two * one - 0.5f * four;
      }
      sum.x += force * x;
      sum.y += force * y;
      sum.z += force * z;
    }
  }
  out[i] = sum;
}

__global__ void atoms_powf(const float4* atoms, float4* out, int n) { push_atoms<true>(atoms, out, n); }
__global__ void atoms_products(const float4* atoms, float4* out, int n) { push_atoms<false>(atoms, out, n); }

// ---- the game of life on a ring: remainders by the width, then comparisons

template <bool REMAINDER>
__device__ __forceinline__ int wrapped(int i, int n) { return REMAINDER ? (i + n) % n : i < 0 ? i + n : i >= n ? i - n : i; }  // <- life_remainders

template <bool REMAINDER>
__device__ __forceinline__ void live(const unsigned char* __restrict__ in, unsigned char* __restrict__ out, int width, int height) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= width * height) return;
  int x = i % width, y = i / width, near = 0;  // <- life_remainders
  for (int a = -1; a <= 1; ++a)
    for (int b = -1; b <= 1; ++b)
      if (a || b) near += in[wrapped<REMAINDER>(y + a, height) * width + wrapped<REMAINDER>(x + b, width)];  // <- life_remainders
  out[i] = near == 3 || (near == 2 && in[i]);
}

__global__ void life_remainders(const unsigned char* in, unsigned char* out, int width, int height) { live<true>(in, out, width, height); }
__global__ void life_compared(const unsigned char* in, unsigned char* out, int width, int height) { live<false>(in, out, width, height); }

// ---- medians of 3 x 3 pixels: sorted in an array by loops, then by unrolled loops in registers

template <int UNROLL>
__device__ __forceinline__ void find_median(const float* __restrict__ in, float* __restrict__ out, int width) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  float v[9];
#pragma unroll UNROLL
  for (int k = 0; k < 9; ++k) v[k] = in[(y + k / 3) * (width + 2) + x + k % 3];
#pragma unroll UNROLL
  for (int last = 8; last >= 4; --last) {
#pragma unroll UNROLL
    for (int k = 0; k < last; ++k) {  // <- median_loops
      float low = fminf(v[k], v[k + 1]);
      v[k + 1] = fmaxf(v[k], v[k + 1]);
      v[k] = low;  // <- median_loops
    }
  }
  out[y * width + x] = v[4];
}

__global__ void median_loops(const float* in, float* out, int width) { find_median<1>(in, out, width); }
__global__ void median_unrolled(const float* in, float* out, int width) { find_median<9>(in, out, width); }

// ---- bands of a picture with 60 KB of shared memory a block: a few more than three blocks an SM, then smaller ones

__global__ void bands(const float* __restrict__ in, float* __restrict__ out, int each) {
  extern __shared__ float band[];
  for (int i = threadIdx.x; i < each; i += blockDim.x) band[i] = in[size_t(blockIdx.x) * each + i];
  __syncthreads();
  for (int i = threadIdx.x; i < each; i += blockDim.x) {
    float v = band[i];
#pragma unroll 8
    for (int k = 0; k < 512; ++k) v = v * 0.999f + 0.001f * v * v;
    out[size_t(blockIdx.x) * each + i] = v;
  }
}

// ---- a dot product by 24 blocks, then by 1,056

__global__ void dot(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ out, int n) {
  float sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += a[i] * b[i];
  for (int step = 16; step; step /= 2) sum += __shfl_down_sync(~0u, sum, step);
  if (threadIdx.x % 32 == 0) atomicAdd(out, sum);
}

// ---- an integral with compensated sums: one sum a thread, then four

template <int SUMS>
__device__ __forceinline__ void integrate(float* __restrict__ out, int n) {
  int first = blockIdx.x * blockDim.x + threadIdx.x, all = gridDim.x * blockDim.x;
  float sum[SUMS] = {}, lost[SUMS] = {}, step = 1.0f / n;
#pragma unroll 1
  for (int i = first; i < n; i += SUMS * all)
#pragma unroll
    for (int k = 0; k < SUMS; ++k) {
      float x = (i + k * all + 0.5f) * step;
      float y = x * (1.0f - x) - lost[k], t = sum[k] + y;  // <- integral_one
      lost[k] = (t - sum[k]) - y;
      sum[k] = t;  // <- integral_one
    }
  float total = 0;
#pragma unroll
  for (int k = 0; k < SUMS; ++k) total += sum[k];
  out[first] = total;
}

__global__ void integral_one(float* out, int n) { integrate<1>(out, n); }
__global__ void integral_four(float* out, int n) { integrate<4>(out, n); }

// ---- heat along rods of 1,024 cells: two barriers a step with a cell for each thread, then a warp with 32 cells for each lane

__global__ void rod_block(const float* __restrict__ in, float* __restrict__ out, int steps) {
  __shared__ float s[1026];
  int t = threadIdx.x;
  s[t + 1] = in[blockIdx.x * size_t(1024) + t];
  if (t == 0) s[0] = s[1025] = 0;
  __syncthreads();
  for (int k = 0; k < steps; ++k) {
    float v = 0.5f * s[t + 1] + 0.25f * (s[t] + s[t + 2]);  // <- rod_block
    __syncthreads();
    s[t + 1] = v;
    __syncthreads();  // <- rod_block
  }
  out[blockIdx.x * size_t(1024) + t] = s[t + 1];
}

__global__ void rod_warp(const float* __restrict__ in, float* __restrict__ out, int steps) {
  int lane = threadIdx.x % 32, rod = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
  float v[34];
#pragma unroll
  for (int k = 0; k < 32; ++k) v[k + 1] = in[rod * size_t(1024) + lane * 32 + k];
#pragma unroll 1
  for (int s = 0; s < steps; ++s) {
    v[0] = __shfl_up_sync(~0u, v[32], 1);
    v[33] = __shfl_down_sync(~0u, v[1], 1);
    if (lane == 0) v[0] = 0;
    if (lane == 31) v[33] = 0;
    float left = v[0];
#pragma unroll
    for (int k = 1; k <= 32; ++k) {
      float mine = v[k];
      v[k] = 0.5f * mine + 0.25f * (left + v[k + 1]);
      left = mine;
    }
  }
#pragma unroll
  for (int k = 0; k < 32; ++k) out[rod * size_t(1024) + lane * 32 + k] = v[k + 1];
}

// ---- a transpose of halves through shared memory: rows of 128 bytes, then of 132

template <int WIDTH>
__device__ __forceinline__ void turn_halves(const __half* __restrict__ in, __half* __restrict__ out, int n) {
  __shared__ __half tile[64][WIDTH];
  int x = blockIdx.x * 64, y = blockIdx.y * 64;
  for (int j = threadIdx.y; j < 64; j += 4) tile[j][threadIdx.x] = in[size_t(y + j) * n + x + threadIdx.x];
  __syncthreads();
  for (int j = threadIdx.y; j < 64; j += 4) out[size_t(x + j) * n + y + threadIdx.x] = tile[threadIdx.x][j];  // <- halves_square
}

__global__ void halves_square(const __half* in, __half* out, int n) { turn_halves<64>(in, out, n); }
__global__ void halves_padded(const __half* in, __half* out, int n) { turn_halves<66>(in, out, n); }

// ---- counts of 64 values by each thread in shared memory: a thread's counters beside each other, then those of a value

template <bool BY_VALUE>
__device__ __forceinline__ void count_private(const unsigned* __restrict__ in, unsigned* __restrict__ out, int n) {
  __shared__ unsigned char counts[64 * 128];
  int t = threadIdx.x;
  for (int i = t; i < 64 * 128; i += 128) counts[i] = 0;
  __syncthreads();
  for (int i = blockIdx.x * 128 + t, k = 0; k < 63 && i < n; ++k, i += gridDim.x * 128) {
    unsigned v = in[i];
    for (int b = 0; b < 4; ++b, v >>= 8) ++counts[BY_VALUE ? (v & 63) * 128 + t : t * 64 + (v & 63)];  // <- counters_thread
  }
  __syncthreads();
  if (t < 64) {
    unsigned sum = 0;
    for (int k = 0; k < 128; ++k) sum += counts[BY_VALUE ? t * 128 + (k + t * 4) % 128 : k * 64 + t];
    atomicAdd(&out[t], sum);
  }
}

__global__ void counters_thread(const unsigned* in, unsigned* out, int n) { count_private<false>(in, out, n); }
__global__ void counters_value(const unsigned* in, unsigned* out, int n) { count_private<true>(in, out, n); }

// ---- two fields with a rim of one cell: the inside begins beside a sector, then at one

__global__ void add_inside(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ out, int pitch, int rim, int width) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  size_t i = size_t(blockIdx.y + 1) * pitch + x + rim;
  out[size_t(blockIdx.y) * width + x] = a[i] + b[i];  // <- add_inside
}

// ---- a filter of 7 x 7: weights in global memory, then in constant memory

__constant__ float filter_weights[49];

template <bool CONSTANT>
__device__ __forceinline__ void filter_image(const float* __restrict__ in, const float* weights, float* out, int width) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * 4;
  for (int row = y; row < y + 4; ++row) {
    float sum = 0;
#pragma unroll
    for (int k = 0; k < 49; ++k) sum += (CONSTANT ? filter_weights[k] : weights[k]) * in[size_t(row + k / 7) * (width + 6) + x + k % 7];  // <- weights_global
    out[size_t(row) * width + x] = sum;
  }
}

__global__ void weights_global(const float* in, const float* weights, float* out, int width) { filter_image<false>(in, weights, out, width); }
__global__ void weights_constant(const float* in, float* out, int width) { filter_image<true>(in, nullptr, out, width); }

// ---- attention of one query a thread: keys and values in tiles of 192 in shared memory, then of 24

__global__ void attend(const float* __restrict__ queries, const float4* __restrict__ keys, const float4* __restrict__ values, float* __restrict__ out, int n, int tile) {
  extern __shared__ float4 kept[];
  float4 *key = kept, *value = kept + tile * 16;
  size_t q = blockIdx.x * size_t(blockDim.x) + threadIdx.x;
  float mine[16], sum = 0, total[16] = {};
#pragma unroll
  for (int d = 0; d < 16; ++d) mine[d] = queries[d * size_t(n) + q];
  for (int first = 0; first < 768; first += tile) {
    __syncthreads();
    for (int i = threadIdx.x; i < tile * 16; i += blockDim.x) {
      key[i] = keys[first * 16 + i];
      value[i] = values[first * 16 + i];
    }
    __syncthreads();
    for (int j = 0; j < tile; ++j) {
      float score = 0;
#pragma unroll
      for (int d = 0; d < 16; ++d) score += mine[d] * (key[j * 16 + d].x + key[j * 16 + d].y);
      float weight = __expf(score * 0.01f);
      sum += weight;
#pragma unroll
      for (int d = 0; d < 16; ++d) total[d] += weight * value[j * 16 + d].x;
    }
  }
#pragma unroll
  for (int d = 0; d < 16; ++d) out[d * size_t(n) + q] = total[d] / sum;
}

// ---- products of matrices of 6 x 6: one for each block of 36 threads, then seven for each block of 252

__global__ void small_matrices(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ out, int n) {
  __shared__ float left[252], right[252];
  int m = threadIdx.x / 36, e = threadIdx.x % 36, row = e / 6, column = e % 6;
  size_t i = (size_t(blockIdx.x) * (blockDim.x / 36) + m) * 36 + e;
  left[threadIdx.x] = a[i];
  right[threadIdx.x] = b[i];
  __syncthreads();
  float sum = 0;
#pragma unroll
  for (int k = 0; k < 6; ++k) sum += left[m * 36 + row * 6 + k] * right[m * 36 + k * 6 + column];
  out[i] = sum;
}

// ---- places of a word in a text: a place for each thread byte by byte, then 16 places from two vectors

__global__ void search_bytes(const unsigned char* __restrict__ text, unsigned long long word, unsigned* __restrict__ out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  bool found = i < n;
#pragma unroll
  for (int k = 0; k < 4; ++k) found = found && text[i + k] == ((word >> 8 * k) & 255);  // <- search_bytes
  unsigned votes = __ballot_sync(~0u, found);
  if (threadIdx.x % 32 == 0) out[i / 32] = votes;
}

__global__ void search_vectors(const uint4* __restrict__ text, unsigned long long word, unsigned short* __restrict__ out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  uint4 v = text[i];
  unsigned w[5] = {v.x, v.y, v.z, v.w, reinterpret_cast<const unsigned*>(text)[i * 4 + 4]};
  unsigned found = 0;
#pragma unroll
  for (int k = 0; k < 16; ++k) found |= unsigned(__funnelshift_r(w[k / 4], w[k / 4 + 1], k % 4 * 8) == unsigned(word)) << k;
  out[i] = found;
}

// ---- rows of 16,384 normalised: read three times, then kept in registers

__device__ __forceinline__ float sum_of_block(float v, float* s) {
  for (int step = 16; step; step /= 2) v += __shfl_xor_sync(~0u, v, step);
  __syncthreads();
  if (threadIdx.x % 32 == 0) s[threadIdx.x / 32] = v;
  __syncthreads();
  v = s[threadIdx.x % 32];
  for (int step = 16; step; step /= 2) v += __shfl_xor_sync(~0u, v, step);
  return v;
}

__global__ void norm_thrice(const float* in, float* out) {
  __shared__ float s[32];
  in += blockIdx.x * size_t(16384);
  out += blockIdx.x * size_t(16384);
  float sum = 0, square = 0;
  for (int i = threadIdx.x; i < 16384; i += 1024) sum += in[i];  // <- norm_thrice
  float mean = sum_of_block(sum, s) / 16384;
  for (int i = threadIdx.x; i < 16384; i += 1024) square += (in[i] - mean) * (in[i] - mean);
  float scale = rsqrtf(sum_of_block(square, s) / 16384);
  for (int i = threadIdx.x; i < 16384; i += 1024) out[i] = (in[i] - mean) * scale;  // <- norm_thrice
}

__global__ void norm_kept(const float* __restrict__ in, float* __restrict__ out) {
  __shared__ float s[32];
  float v[16], sum = 0, square = 0;
  size_t first = blockIdx.x * size_t(16384) + threadIdx.x;
#pragma unroll
  for (int k = 0; k < 16; ++k) sum += v[k] = in[first + k * 1024];
  float mean = sum_of_block(sum, s) / 16384;
#pragma unroll
  for (int k = 0; k < 16; ++k) square += (v[k] - mean) * (v[k] - mean);
  float scale = rsqrtf(sum_of_block(square, s) / 16384);
#pragma unroll
  for (int k = 0; k < 16; ++k) out[first + k * 1024] = (v[k] - mean) * scale;
}

// ---- a sparse matrix of 24 entries a row: by rows, then by columns

template <bool BY_COLUMN>
__device__ __forceinline__ void multiply_ell(const int* __restrict__ columns, const float* __restrict__ values, const float* __restrict__ x, float* __restrict__ y, int n) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= n) return;
  float sum = 0;
  for (int k = 0; k < 24; ++k) {
    size_t i = BY_COLUMN ? size_t(k) * n + row : size_t(row) * 24 + k;
    sum += values[i] * x[columns[i]];  // <- ell_rows
  }
  y[row] = sum;
}

__global__ void ell_rows(const int* columns, const float* values, const float* x, float* y, int n) { multiply_ell<false>(columns, values, x, y, n); }
__global__ void ell_columns(const int* columns, const float* values, const float* x, float* y, int n) { multiply_ell<true>(columns, values, x, y, n); }

// ---- tones of pixels of eight channels: two causes at once, records and precise powers

template <bool PLANES, bool CHEAP>
__device__ __forceinline__ void map_tones(const float* __restrict__ in, float* __restrict__ out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float sum = 0;
#pragma unroll
  for (int c = 0; c < 8; ++c) {
    float v = in[PLANES ? size_t(c) * n + i : size_t(i) * 8 + c];  // <- tones_records
    sum += CHEAP ? exp2f(__log2f(v + 0.1f) * 0.4545f) : powf(v + 0.1f, 0.4545f);  // <- tones_powers
  }
  out[i] = sum;
}

__global__ void tones_both(const float* in, float* out, int n) { map_tones<false, false>(in, out, n); }
__global__ void tones_powers(const float* in, float* out, int n) { map_tones<true, false>(in, out, n); }
__global__ void tones_records(const float* in, float* out, int n) { map_tones<false, true>(in, out, n); }

// ---- gathers by an index with few warps: one after the other, then eight at once

template <int AT_ONCE>
__device__ __forceinline__ void gather_sum(const int* __restrict__ index, const float* __restrict__ x, float* __restrict__ out, int n) {
  int first = blockIdx.x * blockDim.x + threadIdx.x, all = gridDim.x * blockDim.x;
  float sum = 0;
#pragma unroll 1
  for (int i = first; i < n; i += all * AT_ONCE) {
    int at[AT_ONCE];
#pragma unroll
    for (int k = 0; k < AT_ONCE; ++k) at[k] = index[i + k * all];  // <- gather_one
#pragma unroll
    for (int k = 0; k < AT_ONCE; ++k) sum += x[at[k]];  // <- gather_one
  }
  out[first] = sum;
}

__global__ void gather_one(const int* index, const float* x, float* out, int n) { gather_sum<1>(index, x, out, n); }
__global__ void gather_eight(const int* index, const float* x, float* out, int n) { gather_sum<8>(index, x, out, n); }

// ---- rays of which one in four hits: anywhere, then first

__global__ void trace_rays(const float* __restrict__ in, float* __restrict__ out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float v = in[i];
  if (v > 0.75f) {  // <- trace_rays
#pragma unroll 1
    for (int k = 0; k < 100; ++k) v = v * 0.9f + 0.1f * __sinf(v * 3.0f);  // <- trace_rays
  }
  out[i] = v;
}

// ---- a random walk: numbers converted to floats, then built from bits

template <bool BITS>
__device__ __forceinline__ void wander(float* __restrict__ out, int steps) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned state = hashed(i, 9);
  float x = 0, y = 0;
#pragma unroll 4
  for (int k = 0; k < steps; ++k) {
    state = state * 1664525u + 1013904223u;
    unsigned a = state >> 16, b = state & 65535;
    x += BITS ? __uint_as_float(0x3f800000u | a << 7) - 1.5f : a * (1.0f / 65536) - 0.5f;  // <- wander_converted
    y += BITS ? __uint_as_float(0x3f800000u | b << 7) - 1.5f : b * (1.0f / 65536) - 0.5f;  // <- wander_converted
  }
  out[i] = x * x + y * y;
}

__global__ void wander_converted(float* out, int steps) { wander<false>(out, steps); }
__global__ void wander_bits(float* out, int steps) { wander<true>(out, steps); }

// ---- rows of 64 scaled by their largest: a block of 256 for each row, then a warp

__global__ void largest_block(const float* __restrict__ in, float* __restrict__ out) {
  __shared__ float s[256];
  int t = threadIdx.x;
  float v = t < 64 ? in[blockIdx.x * size_t(64) + t] : -INFINITY;
  s[t] = v;  // <- largest_block
  __syncthreads();
  for (int step = 128; step; step /= 2) {
    if (t < step) s[t] = fmaxf(s[t], s[t + step]);
    __syncthreads();  // <- largest_block
  }
  if (t < 64) out[blockIdx.x * size_t(64) + t] = v / s[0];
}

__global__ void largest_warp(const float* __restrict__ in, float* __restrict__ out) {
  size_t row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, i = row * 64 + threadIdx.x % 32;
  float a = in[i], b = in[i + 32], most = fmaxf(a, b);
  for (int step = 16; step; step /= 2) most = fmaxf(most, __shfl_xor_sync(~0u, most, step));
  out[i] = a / most;
  out[i + 32] = b / most;
}

// ---- decoys: a literal in double precision, a remainder and rows of 128 bytes from anywhere, each at the speed of memory

__global__ void triad_literal(const float4* __restrict__ a, const float4* __restrict__ b, float4* __restrict__ out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float4 x = a[i], y = b[i];
  out[i] = make_float4(x.x * 0.1 + y.x, x.y + y.y, x.z + y.z, x.w + y.w);
}

__global__ void bias_rows(const float4* __restrict__ in, const float4* __restrict__ bias, float4* __restrict__ out, int n, int width) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float4 x = in[i], y = bias[i % width];
  out[i] = make_float4(x.x + y.x, x.y + y.y, x.z + y.z, x.w + y.w);
}

__global__ void pick_rows(const float4* __restrict__ table, const int* __restrict__ rows, float4* __restrict__ out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = table[size_t(rows[i / 8]) * 8 + i % 8];
}

// ---- triangle_runs with sixteen products under way a lane

__global__ void __launch_bounds__(256, 4) triangle_runs_by_sixteen(const float* a, const float* x, float* y, int n) {
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32, each = n / gridDim.x;
  for (int k = warp; k < each; k += 8) {
    int row = blockIdx.x * each + k, j = lane;
    const float* from = a + size_t(row) * n;
    float sum = 0;
#pragma unroll 1
    for (; j + 15 * 32 <= row; j += 16 * 32) {
      float v[16];
#pragma unroll
      for (int u = 0; u < 16; ++u) v[u] = from[j + 32 * u] * x[j + 32 * u];
#pragma unroll
      for (int u = 0; u < 16; ++u) sum += v[u];
    }
    for (; j <= row; j += 32) sum += from[j] * x[j];
    for (int step = 16; step; step /= 2) sum += __shfl_down_sync(~0u, sum, step);
    if (lane == 0) y[row] = sum;
  }
}

int main(int argc, char** argv) {
  Program p(argc, argv);
  float *in = p.in<float>(), *more = p.more<float>(), *out = p.out<float>();
  int* ints = p.out<int>();
  auto nothing = [] {};
  auto floats = [=](size_t n) { return [=] { fill_uniform(in, n, 1); }; };

  p.set(200);  // chaotic: only that there are values
  p.kernel<int>("julia_literals", 4096 * 2048, nothing, [=] { julia_literals<<<dim3(32, 2048), 128>>>(ints, 4096, 2048); });
  p.kernel<int>("julia_floats", 4096 * 2048, nothing, [=] { julia_floats<<<dim3(32, 2048), 128>>>(ints, 4096, 2048); });

  constexpr int POINTS = 4 << 20;
  auto clusters = [&] {
    fill_uniform(in, 2 * POINTS, 1);
    fill(p.more<int>(), POINTS, [] __device__(size_t i) { return static_cast<int>(hashed(static_cast<unsigned>(i), 2) % 16); });
  };
  p.set(1e-2);
  p.kernel<float>("centres_global", 48, clusters, [&] { centres_global<<<SMS * 4, 256>>>(p.in<float2>(), p.more<int>(), out, POINTS); });
  p.kernel<float>("centres_shared", 48, clusters, [&] { centres_shared<<<SMS * 4, 256>>>(p.in<float2>(), p.more<int>(), out, POINTS); });

  constexpr int VERTICES = 128 << 10;
  int *starts = p.more<int>(), *edges = p.more<int>(64 * MB);
  auto graph = [=] {
    int* at = static_cast<int*>(std::malloc((VERTICES + 1) * sizeof(int)));
    at[0] = 0;
    for (int v = 0; v < VERTICES; ++v) at[v + 1] = at[v] + degree_of(v);
    CHECK(cudaMemcpy(starts, at, (VERTICES + 1) * sizeof(int), cudaMemcpyHostToDevice));
    fill(edges, at[VERTICES], [] __device__(size_t i) { return static_cast<int>(hashed(static_cast<unsigned>(i), 3) % VERTICES); });
    fill(reinterpret_cast<int*>(in), VERTICES, [] __device__(size_t i) { return static_cast<int>(hashed(static_cast<unsigned>(i), 4) % 1000); });
    std::free(at);
  };
  p.set();
  p.kernel<int>("visit_thread", VERTICES, graph, [&] { visit_thread<<<VERTICES / 256, 256>>>(starts, edges, p.in<int>(), ints, VERTICES); });
  p.kernel<int>("visit_warp", VERTICES, graph, [&] { visit_warp<<<VERTICES / 8, 256>>>(starts, edges, p.in<int>(), ints, VERTICES); });

  constexpr int MANY = 4 << 20;
  auto records = [=] {
    fill_uniform(in, size_t(MANY) * 16, 1);
    fill_uniform(more, 512, 2);
  };
  auto planes = [=] {
    fill(in, size_t(MANY) * 16, [] __device__(size_t i) { return uniform(static_cast<unsigned>(i % MANY * 16 + i / MANY), 1); });
    fill_uniform(more, 512, 2);
  };
  p.set();
  p.kernel<int>("nearest_records", MANY, records, [=] { nearest_records<<<MANY / 256, 256>>>(in, more, ints, MANY); });
  p.kernel<int>("nearest_planes", MANY, planes, [=] { nearest_planes<<<MANY / 256, 256>>>(in, more, ints, MANY); });

  using Byte = unsigned char;
  auto strings = [&] {
    fill(p.in<Byte>(), 4096 * 512, [] __device__(size_t i) { return static_cast<Byte>(hashed(static_cast<unsigned>(i), 1) & 3); });
    fill(p.more<Byte>(), 4096 * 128, [] __device__(size_t i) { return static_cast<Byte>(hashed(static_cast<unsigned>(i), 2) & 3); });
  };
  p.set();
  p.kernel<int>("align_block", 4096, strings, [&] { align_block<<<4096, 128>>>(p.in<Byte>(), p.more<Byte>(), ints, 512); });
  p.kernel<int>("align_warp", 4096, strings, [&] { align_warp<<<1024, 128>>>(p.in<Byte>(), p.more<Byte>(), ints, 512); });

  constexpr int SIDE = 528 * 24;
  auto triangle = [=] {
    fill_uniform(in, size_t(SIDE) * SIDE, 1);
    fill_uniform(more, SIDE, 2);
  };
  p.set(1e-4);
  p.kernel<float>("triangle_runs", SIDE, triangle, [=] { triangle_runs<<<528, 256>>>(in, more, out, SIDE); });
  p.kernel<float>("triangle_turns", SIDE, triangle, [=] { triangle_turns<<<528, 256>>>(in, more, out, SIDE); });

  constexpr int ATOMS = 256 * 264;
  p.set(1e-2);
  p.kernel<float>("atoms_powf", 4 * ATOMS, floats(4 * ATOMS), [&] { atoms_powf<<<264, 256>>>(p.in<float4>(), p.out<float4>(), 4096); });
  p.kernel<float>("atoms_products", 4 * ATOMS, floats(4 * ATOMS), [&] { atoms_products<<<264, 256>>>(p.in<float4>(), p.out<float4>(), 4096); });

  constexpr int RING = 8000;
  auto cells = [&] { fill(p.in<Byte>(), RING * RING, [] __device__(size_t i) { return static_cast<Byte>(hashed(static_cast<unsigned>(i), 1) & 1); }); };
  p.set();
  p.kernel<Byte>("life_remainders", RING * RING, cells, [&] { life_remainders<<<RING * RING / 256, 256>>>(p.in<Byte>(), p.out<Byte>(), RING, RING); });
  p.kernel<Byte>("life_compared", RING * RING, cells, [&] { life_compared<<<RING * RING / 256, 256>>>(p.in<Byte>(), p.out<Byte>(), RING, RING); });

  p.set();
  p.kernel<float>("median_loops", 4096 * 4096, floats(4098 * 4098), [=] { median_loops<<<dim3(16, 4096), 256>>>(in, out, 4096); });
  p.kernel<float>("median_unrolled", 4096 * 4096, floats(4098 * 4098), [=] { median_unrolled<<<dim3(16, 4096), 256>>>(in, out, 4096); });

  constexpr int BAND = 15360;
  CHECK(cudaFuncSetAttribute(bands, cudaFuncAttributeMaxDynamicSharedMemorySize, BAND * 4));
  p.set(1e-5);
  p.kernel<float>("bands-410", 410 * BAND, floats(410 * BAND), [=] { bands<<<410, 256, BAND * 4>>>(in, out, BAND); });
  p.kernel<float>("bands-6560", 410 * BAND, floats(410 * BAND), [=] { bands<<<6560, 256, BAND / 4>>>(in, out, BAND / 16); });

  constexpr int DOT = 16 << 20;
  auto vectors = [=] {
    fill_uniform(in, DOT, 1);
    fill_uniform(more, DOT, 2);
  };
  p.set(1e-3);
  p.kernel<float>("dot-24", 1, vectors, [=] { dot<<<24, 256>>>(in, more, out, DOT); });
  p.kernel<float>("dot-1056", 1, vectors, [=] { dot<<<1056, 256>>>(in, more, out, DOT); });

  constexpr int CELLS = SMS * 128;
  p.set(1e-3);
  p.kernel<float>("integral_one", CELLS, nothing, [=] { integral_one<<<SMS, 128>>>(out, CELLS * 4096); });
  p.kernel<float>("integral_four", CELLS, nothing, [=] { integral_four<<<SMS, 128>>>(out, CELLS * 4096); });

  constexpr int RODS = SMS * 16;
  p.set(1e-4);
  p.kernel<float>("rod_block", RODS * 1024, floats(RODS * 1024), [=] { rod_block<<<RODS, 1024>>>(in, out, 200); });
  p.kernel<float>("rod_warp", RODS * 1024, floats(RODS * 1024), [=] { rod_warp<<<RODS / 4, 128>>>(in, out, 200); });

  auto halves = [&] { fill(p.in<__half>(), 8192 * 8192, [] __device__(size_t i) { return __float2half(uniform(static_cast<unsigned>(i), 1)); }); };
  p.set();
  p.kernel<__half>("halves_square", 8192 * 8192, halves, [&] { halves_square<<<dim3(128, 128), dim3(64, 4)>>>(p.in<__half>(), p.out<__half>(), 8192); });
  p.kernel<__half>("halves_padded", 8192 * 8192, halves, [&] { halves_padded<<<dim3(128, 128), dim3(64, 4)>>>(p.in<__half>(), p.out<__half>(), 8192); });

  constexpr int WORDS = 63 * 128 * 4096;
  auto words = [&] { fill(p.in<unsigned>(), WORDS, [] __device__(size_t i) { return hashed(static_cast<unsigned>(i), 1); }); };
  p.set();
  p.kernel<unsigned>("counters_thread", 64, words, [&] { counters_thread<<<4096, 128>>>(p.in<unsigned>(), p.out<unsigned>(), WORDS); });
  p.kernel<unsigned>("counters_value", 64, words, [&] { counters_value<<<4096, 128>>>(p.in<unsigned>(), p.out<unsigned>(), WORDS); });

  auto fields = [=](int pitch, int rim) {
    return [=] {
      auto value = [=] __device__(size_t i) { return uniform(static_cast<unsigned>(i / pitch * 4096 + i % pitch - rim), 1); };
      fill(in, size_t(pitch) * 4098, value);
      fill(more, size_t(pitch) * 4098, value);
    };
  };
  p.set();
  p.kernel<float>("add_inside-4098", 4096 * 4096, fields(4098, 1), [=] { add_inside<<<dim3(16, 4096), 256>>>(in, more, out, 4098, 1, 4096); });
  p.kernel<float>("add_inside-4112", 4096 * 4096, fields(4112, 8), [=] { add_inside<<<dim3(16, 4096), 256>>>(in, more, out, 4112, 8, 4096); });

  auto image = [=] {
    float weights[49];
    for (int k = 0; k < 49; ++k) weights[k] = 1.0f / (1 + k);
    CHECK(cudaMemcpyToSymbol(filter_weights, weights, sizeof weights));
    CHECK(cudaMemcpy(more, weights, sizeof weights, cudaMemcpyHostToDevice));
    fill_uniform(in, 4102 * 4102, 1);
  };
  p.set(1e-5);
  p.kernel<float>("weights_global", 4096 * 4096, image, [=] { weights_global<<<dim3(16, 1024), 256>>>(in, more, out, 4096); });
  p.kernel<float>("weights_constant", 4096 * 4096, image, [=] { weights_constant<<<dim3(16, 1024), 256>>>(in, out, 4096); });

  constexpr int QUERIES = 64 * SMS * 16;
  CHECK(cudaFuncSetAttribute(attend, cudaFuncAttributeMaxDynamicSharedMemorySize, 192 * 512));
  auto attention = [=] {
    fill_uniform(in, QUERIES * 16, 1);
    fill_uniform(more, 2 * 768 * 64, 2);
  };
  const float4 *keys = p.more<float4>(), *values = keys + 768 * 16;
  p.set(1e-4);
  p.kernel<float>("attend-192", QUERIES * 16, attention, [=] { attend<<<QUERIES / 64, 64, 192 * 512>>>(in, keys, values, out, QUERIES, 192); });
  p.kernel<float>("attend-24", QUERIES * 16, attention, [=] { attend<<<QUERIES / 64, 64, 24 * 512>>>(in, keys, values, out, QUERIES, 24); });

  constexpr int SMALL = 7 << 18;
  auto matrices = [=] {
    fill_uniform(in, size_t(SMALL) * 36, 1);
    fill_uniform(more, size_t(SMALL) * 36, 2);
  };
  p.set(1e-5);
  p.kernel<float>("small_matrices-36", size_t(SMALL) * 36, matrices, [=] { small_matrices<<<SMALL, 36>>>(in, more, out, SMALL); });
  p.kernel<float>("small_matrices-252", size_t(SMALL) * 36, matrices, [=] { small_matrices<<<SMALL / 7, 252>>>(in, more, out, SMALL); });

  constexpr int TEXT = 64 << 20;
  auto text = [&] { fill(p.in<Byte>(), TEXT + 32, [] __device__(size_t i) { return static_cast<Byte>('a' + (hashed(static_cast<unsigned>(i), 1) & 3)); }); };
  p.set();
  p.kernel<unsigned>("search_bytes", TEXT / 32 - 1, text, [&] { search_bytes<<<TEXT / 256, 256>>>(p.in<Byte>(), 0x61646362ull, p.out<unsigned>(), TEXT); });
  p.kernel<unsigned>("search_vectors", TEXT / 32 - 1, text, [&] { search_vectors<<<TEXT / 4096, 256>>>(p.in<uint4>(), 0x61646362ull, p.out<unsigned short>(), TEXT); });

  p.set(1e-3);
  p.kernel<float>("norm_thrice", 4096 * 16384, floats(4096 * 16384), [=] { norm_thrice<<<4096, 1024>>>(in, out); });
  p.kernel<float>("norm_kept", 4096 * 16384, floats(4096 * 16384), [=] { norm_kept<<<4096, 1024>>>(in, out); });

  constexpr int ROWS = 1 << 20;
  int* columns = p.more<int>();
  float* x = p.more<float>(512 * MB);
  auto sparse = [=](bool by_column) {
    return [=] {
      auto entry = [=] __device__(size_t i) { return static_cast<unsigned>(by_column ? i % ROWS * 24 + i / ROWS : i); };
      fill(columns, size_t(ROWS) * 24, [=] __device__(size_t i) { return static_cast<int>((entry(i) / 24 + hashed(entry(i) % 24, 3) % 2048) % ROWS); });
      fill(in, size_t(ROWS) * 24, [=] __device__(size_t i) { return uniform(entry(i), 1); });
      fill_uniform(x, ROWS, 2);
    };
  };
  p.set(1e-5);
  p.kernel<float>("ell_rows", ROWS, sparse(false), [=] { ell_rows<<<ROWS / 256, 256>>>(columns, in, x, out, ROWS); });
  p.kernel<float>("ell_columns", ROWS, sparse(true), [=] { ell_columns<<<ROWS / 256, 256>>>(columns, in, x, out, ROWS); });

  constexpr int PIXELS = 8 << 20;
  auto channels = [=] { fill(in, size_t(PIXELS) * 8, [] __device__(size_t i) { return uniform(static_cast<unsigned>(i % PIXELS * 8 + i / PIXELS), 1); }); };
  p.set(1e-3);
  p.kernel<float>("tones_both", PIXELS, floats(size_t(PIXELS) * 8), [=] { tones_both<<<PIXELS / 256, 256>>>(in, out, PIXELS); });
  p.kernel<float>("tones_powers", PIXELS, channels, [=] { tones_powers<<<PIXELS / 256, 256>>>(in, out, PIXELS); });
  p.kernel<float>("tones_records", PIXELS, floats(size_t(PIXELS) * 8), [=] { tones_records<<<PIXELS / 256, 256>>>(in, out, PIXELS); });

  constexpr int GATHERS = SMS * 256 * 256;
  auto indices = [&] {
    fill(p.more<int>(), GATHERS, [] __device__(size_t i) { return static_cast<int>(hashed(static_cast<unsigned>(i), 3) & ((2 << 20) - 1)); });
    fill_uniform(in, 2 << 20, 1);
  };
  p.set(1e-4);
  p.kernel<float>("gather_one", SMS * 256, indices, [&] { gather_one<<<SMS, 256>>>(p.more<int>(), in, out, GATHERS); });
  p.kernel<float>("gather_eight", SMS * 256, indices, [&] { gather_eight<<<SMS, 256>>>(p.more<int>(), in, out, GATHERS); });

  constexpr int RAYS = 16 << 20;
  auto first = [=] { fill(in, RAYS, [] __device__(size_t i) { return i < RAYS / 4 ? 0.75001f + 0.24f * uniform(static_cast<unsigned>(i), 1) : 0.74f * uniform(static_cast<unsigned>(i), 1); }); };
  p.set(3);  // the rays are in another order
  p.kernel<float>("trace_rays-anywhere", RAYS, floats(RAYS), [=] { trace_rays<<<RAYS / 256, 256>>>(in, out, RAYS); });
  p.kernel<float>("trace_rays-first", RAYS, first, [=] { trace_rays<<<RAYS / 256, 256>>>(in, out, RAYS); });

  p.set(1e-3);
  p.kernel<float>("wander_converted", SMS * 2048, nothing, [=] { wander_converted<<<SMS * 8, 256>>>(out, 1024); });
  p.kernel<float>("wander_bits", SMS * 2048, nothing, [=] { wander_bits<<<SMS * 8, 256>>>(out, 1024); });

  p.set(1e-6);
  p.kernel<float>("largest_block", 64 << 18, floats(64 << 18), [=] { largest_block<<<1 << 18, 256>>>(in, out); });
  p.kernel<float>("largest_warp", 64 << 18, floats(64 << 18), [=] { largest_warp<<<1 << 15, 256>>>(in, out); });

  constexpr int QUADS = 32 << 20;
  auto pairs = [=] {
    fill_uniform(in, QUADS * 4ull, 1);
    fill_uniform(more, QUADS * 4ull, 2);
  };
  auto picks = [&] {
    fill_uniform(in, QUADS * 4ull, 1);
    fill(p.more<int>(), QUADS / 8, [] __device__(size_t i) { return static_cast<int>(hashed(static_cast<unsigned>(i), 2) % (QUADS / 8)); });
  };
  p.set(1e-6);
  p.kernel<float>("triad_literal", QUADS * 4ull, pairs, [&] { triad_literal<<<QUADS / 256, 256>>>(p.in<float4>(), p.more<float4>(), p.out<float4>(), QUADS); });
  p.set();
  p.kernel<float>("bias_rows", QUADS * 4ull, pairs, [&] { bias_rows<<<QUADS / 256, 256>>>(p.in<float4>(), p.more<float4>(), p.out<float4>(), QUADS, 3000); });
  p.set();
  p.kernel<float>("pick_rows", QUADS * 4ull, picks, [&] { pick_rows<<<QUADS / 256, 256>>>(p.in<float4>(), p.more<int>(), p.out<float4>()); });

  p.set(1e-4);
  p.kernel<float>("triangle_runs-again", SIDE, triangle, [=] { triangle_runs<<<528, 256>>>(in, more, out, SIDE); });
  p.kernel<float>("triangle_turns-again", SIDE, triangle, [=] { triangle_turns<<<528, 256>>>(in, more, out, SIDE); });
  p.kernel<float>("triangle_runs_by_sixteen", SIDE, triangle, [=] { triangle_runs_by_sixteen<<<528, 256>>>(in, more, out, SIDE); });
  return p.end();
}
