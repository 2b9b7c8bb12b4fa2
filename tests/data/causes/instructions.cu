// Kernels that execute instructions which they could do without, each beside one that differs by that alone.
#include "program.cuh"

// ---- a picture from pixels to planes: its place by 64-bit division, then by the grid

__global__ void planes_by_division(const float* __restrict__ in, float* __restrict__ out, size_t height, size_t width, size_t channels) {
  size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x;
  if (i >= height * width * channels) return;
  size_t x = i % width, y = i / width % height, c = i / (width * height);  // <- planes_by_division
  out[i] = in[(y * width + x) * channels + c];
}

__global__ void planes_by_grid(const float* __restrict__ in, float* __restrict__ out, size_t height, size_t width, size_t channels) {
  size_t x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y, c = blockIdx.z;
  if (x < width) out[(c * height + y) * width + x] = in[(y * width + x) * channels + c];
}

// ---- a tensor of five dimensions permuted: 32-bit division by sizes known when it runs, then by sizes known before

struct Shape {
  int size[5], stride[5];
};

__global__ void permute(const float* __restrict__ in, float* __restrict__ out, Shape shape, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int rest = i, at = 0;
#pragma unroll
  for (int d = 4; d >= 0; --d) {
    at += rest % shape.size[d] * shape.stride[d];  // <- permute
    rest /= shape.size[d];  // <- permute
  }
  out[i] = in[at];
}

__global__ void permute_powers(const float* __restrict__ in, float* __restrict__ out, Shape shape, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int at = i % 32 * shape.stride[4] + i / 32 % 16 * shape.stride[3] + i / 512 % 32 * shape.stride[2] + i / 16384 % 16 * shape.stride[1] + i / 262144 * shape.stride[0];
  out[i] = in[at];
}

// ---- a smoothing whose 25 taps each clamp their place, then one that clamps at the border alone

__global__ void smooth_clamped(const float* __restrict__ in, float* __restrict__ out, int width, int height) {
  int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
  if (x >= width || y >= height) return;
  float sum = 0;
#pragma unroll
  for (int dy = -2; dy <= 2; ++dy)
#pragma unroll
    for (int dx = -2; dx <= 2; ++dx) {
      int u = (x + dx + width) % width, v = (y + dy + height) % height;  // <- smooth_clamped
      sum += in[v * width + u];
    }
  out[y * width + x] = sum * 0.04f;
}

__global__ void smooth_inside(const float* __restrict__ in, float* __restrict__ out, int width, int height) {
  int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
  if (x >= width || y >= height) return;
  float sum = 0;
  if (x >= 2 && x < width - 2 && y >= 2 && y < height - 2) {
#pragma unroll
    for (int dy = -2; dy <= 2; ++dy)
#pragma unroll
      for (int dx = -2; dx <= 2; ++dx) sum += in[(y + dy) * width + x + dx];
  } else {
#pragma unroll 1
    for (int dy = -2; dy <= 2; ++dy)
#pragma unroll 1
      for (int dx = -2; dx <= 2; ++dx) sum += in[(y + dy + height) % height * width + (x + dx + width) % width];
  }
  out[y * width + x] = sum * 0.04f;
}

// ---- a polynomial: each power anew, then Horner's way

__constant__ float weights[64];

__global__ void powers(const float* __restrict__ in, float* __restrict__ out, int n, int terms) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float x = in[i], sum = 0;
#pragma unroll 1
  for (int k = 0; k < terms; ++k) {
    float power = weights[k];
#pragma unroll 8
    for (int j = 0; j < k; ++j) power *= x;  // <- powers
    sum += power;
  }
  out[i] = sum;
}

__global__ void horner(const float* __restrict__ in, float* __restrict__ out, int n, int terms) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float x = in[i], sum = 0;
#pragma unroll 8
  for (int k = terms - 1; k >= 0; --k) sum = sum * x + weights[k];
  out[i] = sum;
}

// ---- points turned by an angle: the matrix made for each point, then once

__device__ __forceinline__ void turn(float4 a, float4 b, float4 c, float4& p) {
  p = make_float4(a.x * p.x + a.y * p.y + a.z * p.z, b.x * p.x + b.y * p.y + b.z * p.z, c.x * p.x + c.y * p.y + c.z * p.z, 1);
}

__global__ void turn_each(const float4* __restrict__ in, float4* __restrict__ out, const float* __restrict__ angle, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float4 p = in[i];
#pragma unroll 1
  for (int k = 0; k < n; ++k) {
    float s = sinf(angle[k]), c = cosf(angle[k]), t = sinf(angle[k + 1]), u = cosf(angle[k + 1]);  // <- turn_each
    turn(make_float4(c, -s, 0, 0), make_float4(s * u, c * u, -t, 0), make_float4(s * t, c * t, u, 0), p);  // <- turn_each
  }
  out[i] = p;
}

__global__ void turn_prepared(const float4* __restrict__ in, float4* __restrict__ out, const float* __restrict__ angle, int n) {
  __shared__ float4 rows[3][64];
  if (threadIdx.x < n) {
    int k = threadIdx.x;
    float s = sinf(angle[k]), c = cosf(angle[k]), t = sinf(angle[k + 1]), u = cosf(angle[k + 1]);
    rows[0][k] = make_float4(c, -s, 0, 0);
    rows[1][k] = make_float4(s * u, c * u, -t, 0);
    rows[2][k] = make_float4(s * t, c * t, u, 0);
  }
  __syncthreads();
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float4 p = in[i];
#pragma unroll 1
  for (int k = 0; k < n; ++k) turn(rows[0][k], rows[1][k], rows[2][k], p);
  out[i] = p;
}

// ---- a filter of recurrences: products and sums apart, then fused

__global__ void resonate_apart(const float* __restrict__ in, float* __restrict__ out, int rounds) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float x[4];
  for (int j = 0; j < 4; ++j) x[j] = in[i * 4 + j];
#pragma unroll 8
  for (int k = 0; k < rounds; ++k)
#pragma unroll
    for (int j = 0; j < 4; ++j) x[j] = __fadd_rn(__fmul_rn(x[j], 0.999f), 0.125f);  // <- resonate_apart
  for (int j = 0; j < 4; ++j) out[i * 4 + j] = x[j];
}

__global__ void resonate_fused(const float* __restrict__ in, float* __restrict__ out, int rounds) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float x[4];
  for (int j = 0; j < 4; ++j) x[j] = in[i * 4 + j];
#pragma unroll 8
  for (int k = 0; k < rounds; ++k)
#pragma unroll
    for (int j = 0; j < 4; ++j) x[j] = __fmaf_rn(x[j], 0.999f, 0.125f);
  for (int j = 0; j < 4; ++j) out[i * 4 + j] = x[j];
}

// ---- a polynomial of a degree known when it runs: a step a turn, then sixteen

__global__ void series_rolled(const float* __restrict__ in, float* __restrict__ out, int degree, int rounds) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float x = in[i], sum = 0;
#pragma unroll 1
  for (int round = 0; round < rounds; ++round)
#pragma unroll 1
    for (int k = 0; k < degree; ++k) sum = sum * x + weights[k];  // <- series_rolled
  out[i] = sum;
}

__global__ void series_unrolled(const float* __restrict__ in, float* __restrict__ out, int degree, int rounds) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float x = in[i], sum = 0;
#pragma unroll 1
  for (int round = 0; round < rounds; ++round)
#pragma unroll 16
    for (int k = 0; k < degree; ++k) sum = sum * x + weights[k];
  out[i] = sum;
}

// ---- a small matrix in shared memory times a vector each: one column a turn, then eight

__global__ void layer_rolled(const float* __restrict__ w, const float* __restrict__ in, float* __restrict__ out, int rows) {
  __shared__ __align__(16) float m[64 * 64];
  for (int i = threadIdx.x; i < 4096; i += 256) m[i] = w[i];
  __syncthreads();
  float x[8], sum[8];
  int i = blockIdx.x * 256 + threadIdx.x;
  for (int j = 0; j < 8; ++j) x[j] = in[i * 8 + j], sum[j] = 0;
#pragma unroll 1
  for (int k = 0; k < rows * 8; ++k)
    sum[0] += m[k % 4096] * x[0];  // <- layer_rolled
  for (int j = 0; j < 8; ++j) out[i * 8 + j] = sum[j] + x[j];
}

__global__ void layer_unrolled(const float* __restrict__ w, const float* __restrict__ in, float* __restrict__ out, int rows) {
  __shared__ __align__(16) float m[64 * 64];
  for (int i = threadIdx.x; i < 4096; i += 256) m[i] = w[i];
  __syncthreads();
  float x[8], sum[8];
  int i = blockIdx.x * 256 + threadIdx.x;
  for (int j = 0; j < 8; ++j) x[j] = in[i * 8 + j], sum[j] = 0;
#pragma unroll 1
  for (int k = 0; k < rows * 8; k += 16)
#pragma unroll
    for (int j = 0; j < 16; ++j) sum[0] += m[k % 4096 + j] * x[0];
  for (int j = 0; j < 8; ++j) out[i * 8 + j] = sum[j] + x[j];
}

// ---- a layer of weights in eight bits: made floats at each use, then once

__global__ void layer_bytes(const signed char* __restrict__ w, const float* __restrict__ in, float* __restrict__ out, int n) {
  __shared__ signed char m[64 * 64];
  for (int i = threadIdx.x; i < 4096; i += 256) m[i] = w[i];
  __syncthreads();
  int i = blockIdx.x * 256 + threadIdx.x;
  float x[16];
#pragma unroll
  for (int j = 0; j < 16; ++j) x[j] = in[size_t(j) * n + i];
#pragma unroll 1
  for (int r = 0; r < 64; ++r) {
    float sum = 0;
#pragma unroll
    for (int j = 0; j < 16; ++j) sum += static_cast<float>(m[r * 16 + j]) * x[j];  // <- layer_bytes
    x[0] = sum * 0.001f;
  }
  out[i] = x[0];
}

__global__ void layer_floats(const signed char* __restrict__ w, const float* __restrict__ in, float* __restrict__ out, int n) {
  __shared__ __align__(16) float m[64 * 64];
  for (int i = threadIdx.x; i < 4096; i += 256) m[i] = static_cast<float>(w[i]);
  __syncthreads();
  int i = blockIdx.x * 256 + threadIdx.x;
  float x[16];
#pragma unroll
  for (int j = 0; j < 16; ++j) x[j] = in[size_t(j) * n + i];
#pragma unroll 1
  for (int r = 0; r < 64; ++r) {
    float sum = 0;
#pragma unroll
    for (int j = 0; j < 16; ++j) sum += m[r * 16 + j] * x[j];
    x[0] = sum * 0.001f;
  }
  out[i] = x[0];
}

// ---- values rounded to a grid, as for training in few bits: through integers, then through a large number added

__global__ void quantize_integers(const float* __restrict__ in, float* __restrict__ out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float x = in[i], sum = 0;
#pragma unroll
  for (int k = 1; k <= 32; ++k) sum += static_cast<float>(__float2int_rn(x * (7.0f * k))) * (1.0f / (7.0f * k));  // <- quantize_integers
  out[i] = sum;
}

__global__ void quantize_added(const float* __restrict__ in, float* __restrict__ out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float x = in[i], sum = 0;
#pragma unroll
  for (int k = 1; k <= 32; ++k) sum += __fadd_rn(__fadd_rn(__fmul_rn(x, 7.0f * k), 12582912.0f), -12582912.0f) * (1.0f / (7.0f * k));
  out[i] = sum;
}

// ---- a curve with literals of double precision, then of single

__global__ void curve_double(const float* __restrict__ in, float* __restrict__ out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float x = in[i], y = x;
#pragma unroll
  for (int k = 0; k < 12; ++k) y = y * (1.5 - 0.5 * x * y) + 0.1;  // <- curve_double
  out[i] = y;
}

__global__ void curve_single(const float* __restrict__ in, float* __restrict__ out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float x = in[i], y = x;
#pragma unroll
  for (int k = 0; k < 12; ++k) y = y * (1.5f - 0.5f * x * y) + 0.1f;
  out[i] = y;
}

// ---- n-body with sqrt() of double, then of float

__global__ void attract_double(const float4* __restrict__ bodies, float4* __restrict__ out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float4 at = bodies[i];
  float3 force = make_float3(0, 0, 0);
  for (int k = 0; k < n; ++k) {
    float4 other = bodies[k];
    float dx = other.x - at.x, dy = other.y - at.y, dz = other.z - at.z;
    float r = 1.0 / sqrt(dx * dx + dy * dy + dz * dz + 0.01);  // <- attract_double
    float f = other.w * r * r * r;
    force.x += f * dx, force.y += f * dy, force.z += f * dz;
  }
  out[i] = make_float4(force.x, force.y, force.z, 1);
}

__global__ void attract_single(const float4* __restrict__ bodies, float4* __restrict__ out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float4 at = bodies[i];
  float3 force = make_float3(0, 0, 0);
  for (int k = 0; k < n; ++k) {
    float4 other = bodies[k];
    float dx = other.x - at.x, dy = other.y - at.y, dz = other.z - at.z;
    float r = rsqrtf(dx * dx + dy * dy + dz * dz + 0.01f);
    float f = other.w * r * r * r;
    force.x += f * dx, force.y += f * dy, force.z += f * dz;
  }
  out[i] = make_float4(force.x, force.y, force.z, 1);
}

// ---- colours corrected: pow() with an exponent of two and a half, then products and a root

__global__ void correct_power(const float* __restrict__ in, float* __restrict__ out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = in[i];
#pragma unroll
  for (int k = 0; k < 4; ++k) v = 0.9f * powf(v, 2.5f) + 0.3f;  // <- correct_power
  out[i] = v;
}

__global__ void correct_root(const float* __restrict__ in, float* __restrict__ out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = in[i];
#pragma unroll
  for (int k = 0; k < 4; ++k) v = 0.9f * v * v * __fsqrt_rn(v) + 0.3f;
  out[i] = v;
}

// ---- a spectrum by its definition: sine and cosine at each step, then a turn by a constant angle

__global__ void spectrum_sines(const float* __restrict__ in, float2* __restrict__ out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float angle = 6.2831853f * (i % n) / n, re = 0, im = 0;
  for (int k = 0; k < n; ++k) {
    float x = in[k];
    re += x * cosf(angle * k);  // <- spectrum_sines
    im += x * sinf(angle * k);  // <- spectrum_sines
  }
  out[i] = make_float2(re, im);
}

__global__ void spectrum_turned(const float* __restrict__ in, float2* __restrict__ out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float angle = 6.2831853f * (i % n) / n, re = 0, im = 0, c = 1, s = 0, dc = cosf(angle), ds = sinf(angle);
  for (int k = 0; k < n; ++k) {
    float x = in[k];
    re += x * c;
    im += x * s;
    float next = c * dc - s * ds;
    s = c * ds + s * dc;
    c = next;
  }
  out[i] = make_float2(re, im);
}

// ---- four kinds of material: a lane each, then a warp each

__device__ __forceinline__ float shade(float x, int kind) {
  float y = x;
  if (kind == 0) {
#pragma unroll 4
    for (int k = 0; k < 128; ++k) y = y * 0.99f + x;  // <- shade_lanes
  } else if (kind == 1) {
#pragma unroll 4
    for (int k = 0; k < 128; ++k) y = y * y * 0.25f + x;  // <- shade_lanes
  } else if (kind == 2) {
#pragma unroll 4
    for (int k = 0; k < 64; ++k) y = fabsf(y - 0.5f) + x * 0.125f;  // <- shade_lanes
  } else {
#pragma unroll 4
    for (int k = 0; k < 32; ++k) y = rsqrtf(y + 1) + x;  // <- shade_lanes
  }
  return y;
}

__global__ void shade_lanes(const float* __restrict__ in, float* __restrict__ out) {
  int i = blockIdx.x * 128 + threadIdx.x;
  out[i] = shade(in[i], i % 4);  // <- shade_lanes
}

__global__ void shade_warps(const float* __restrict__ in, float* __restrict__ out) {
  int i = blockIdx.x * 128 + threadIdx.x % 32 * 4 + threadIdx.x / 32;
  out[i] = shade(in[i], threadIdx.x / 32);
}

// ---- lists of different lengths: neighbours differ, then sorted by length

__global__ void sum_lists(const float* __restrict__ in, const int* __restrict__ order, const int* __restrict__ lengths, float* __restrict__ out) {
  int i = order[blockIdx.x * blockDim.x + threadIdx.x];
  float x = in[i], sum = 0;
  int length = lengths[i];
#pragma unroll 1
  for (int k = 0; k < length; ++k) sum = sum * x + __fsqrt_rn(x + k);  // <- sum_lists
  out[i] = sum;
}

// ---- a total in each block: by one thread, then by a warp

__global__ void normalize_one(const float* __restrict__ in, float* __restrict__ out) {
  __shared__ float values[256];
  __shared__ float total;
  size_t i = blockIdx.x * size_t(256) + threadIdx.x;
  values[threadIdx.x] = in[i];
  __syncthreads();
  if (threadIdx.x == 0) {  // <- normalize_one
    float sum = 0;
    for (int k = 0; k < 256; ++k) sum += values[k];  // <- normalize_one
    total = 1 / sum;
  }
  __syncthreads();
  out[i] = values[threadIdx.x] * total;
}

__global__ void normalize_warp(const float* __restrict__ in, float* __restrict__ out) {
  __shared__ float values[256];
  __shared__ float total;
  size_t i = blockIdx.x * size_t(256) + threadIdx.x;
  values[threadIdx.x] = in[i];
  __syncthreads();
  if (threadIdx.x < 32) {
    float sum = 0;
#pragma unroll
    for (int k = 0; k < 256; k += 32) sum += values[threadIdx.x + k];
    for (int step = 16; step; step /= 2) sum += __shfl_down_sync(~0u, sum, step);
    if (threadIdx.x == 0) total = 1 / sum;
  }
  __syncthreads();
  out[i] = values[threadIdx.x] * total;
}

// ---- rows of 20 values: a warp for each, whose last 12 lanes rest, then all lanes

__device__ __forceinline__ float settle(float x) {
  float y = x;
#pragma unroll 8
  for (int k = 0; k < 256; ++k) y = y * 0.99f + x;
  return y;
}

__global__ void short_rows(const float* __restrict__ in, float* __restrict__ out, int rows) {
  int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  if (row < rows && lane < 20) out[row * 20 + lane] = settle(in[row * 20 + lane]);  // <- short_rows
}

__global__ void flat_rows(const float* __restrict__ in, float* __restrict__ out, int rows) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < rows * 20) out[i] = settle(in[i]);
}

// ---- two causes: double literals on an array of structures

struct Sample {
  float value, rest[7];
};

template <typename Literal, typename Get>
__device__ __forceinline__ float calibrate(Get get, int i) {
  float x = get(i), y = x;
#pragma unroll
  for (int k = 0; k < 16; ++k) y = y * (Literal(1.5) - Literal(0.5) * x * y) + Literal(0.1);  // <- samples
  return y;
}

__global__ void samples_both(const Sample* __restrict__ in, float* __restrict__ out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = calibrate<double>([&](int at) { return in[at].value; }, i);  // <- samples_load
}
__global__ void samples_double(const float* __restrict__ in, float* __restrict__ out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = calibrate<double>([&](int at) { return in[at]; }, i);
}
__global__ void samples_structs(const Sample* __restrict__ in, float* __restrict__ out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = calibrate<float>([&](int at) { return in[at].value; }, i);  // <- samples_load
}
__global__ void samples_neither(const float* __restrict__ in, float* __restrict__ out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = calibrate<float>([&](int at) { return in[at]; }, i);
}

// ---- decoys

// GELU with tanh and a division, for each value that comes from memory: memory alone decides.
__global__ void gelu(const float4* __restrict__ in, float4* __restrict__ out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float4 v = in[i];
  auto one = [](float x) { return __fdividef(x, 1 + __expf(-1.5957691f * (x + 0.044715f * x * x * x))); };
  out[i] = make_float4(one(v.x), one(v.y), one(v.z), one(v.w));
}

// One double division a thread, and then FMAs for long.
__global__ void anneal(const float* __restrict__ in, float* __restrict__ out, double scale) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float x[4], step = static_cast<float>(1.0 / (scale + in[i]));
  for (int j = 0; j < 4; ++j) x[j] = in[i] + j;
#pragma unroll 16
  for (int k = 0; k < 1024; ++k)
    for (int j = 0; j < 4; ++j) x[j] = x[j] * 0.999f + step;
  out[i] = x[0] + x[1] + x[2] + x[3];
}

// A division and a remainder for each row of 4 KB.
__global__ void add_rows(const float4* __restrict__ in, float4* __restrict__ out, int period, int n) {
  for (int row = blockIdx.x; row < n; row += gridDim.x) {
    float shift = row % period / static_cast<float>(period);
    float4 v = in[row * 256 + threadIdx.x];
    out[row * 256 + threadIdx.x] = make_float4(v.x + shift, v.y + shift, v.z + shift, v.w + shift);
  }
}

// Only the last 100 of 64 million values take the long way.
__global__ void rare_branch(const float* __restrict__ in, float* __restrict__ out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float x = in[i];
  if (i >= n - 100) {
    for (int k = 0; k < 64; ++k) x = __fsqrt_rn(x + 1);
  } else {
    x = x * 1.5f;
  }
  out[i] = x;
}

// ---- the present value of payments: the discount of each year multiplied together anew, then carried from year to year

__global__ void discount_each(const float* __restrict__ rates, const float* __restrict__ payments, float* __restrict__ out, int n, int years) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float discount = 1 / (1 + 0.1f * rates[i]), value = 0;
  for (int year = 0; year < years; ++year) {
    float factor = 1;
    for (int k = 0; k < year; ++k) factor *= discount;  // <- discount_each
    value += payments[year] * factor;  // <- discount_each
  }
  out[i] = value;
}

__global__ void discount_running(const float* __restrict__ rates, const float* __restrict__ payments, float* __restrict__ out, int n, int years) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float discount = 1 / (1 + 0.1f * rates[i]), value = 0, factor = 1;
  for (int year = 0; year < years; ++year) {
    value += payments[year] * factor;
    factor *= discount;
  }
  out[i] = value;
}

// ---- layer_rolled, with four vectors for each thread

__global__ void layer_rolled_four(const float* __restrict__ w, const float* __restrict__ in, float* __restrict__ out, int rows) {
  __shared__ __align__(16) float m[64 * 64];
  for (int i = threadIdx.x; i < 4096; i += 256) m[i] = w[i];
  __syncthreads();
  float x[4][8], sum[4][8];
  int i = blockIdx.x * 1024 + threadIdx.x;
#pragma unroll
  for (int v = 0; v < 4; ++v)
    for (int j = 0; j < 8; ++j) x[v][j] = in[(i + v * 256) * 8 + j], sum[v][j] = 0;
#pragma unroll 1
  for (int k = 0; k < rows * 8; ++k)
#pragma unroll
    for (int v = 0; v < 4; ++v) sum[v][0] += m[k % 4096] * x[v][0];
#pragma unroll
  for (int v = 0; v < 4; ++v)
    for (int j = 0; j < 8; ++j) out[(i + v * 256) * 8 + j] = sum[v][j] + x[v][j];
}

// ---- the nearest of many centres: each block adds up the squares of all centres, then they are given

__global__ void nearest_squared(const float* __restrict__ points, const float* __restrict__ centres, float* __restrict__ out, int count) {
  __shared__ float tile[64 * 16];
  int i = blockIdx.x * 256 + threadIdx.x, which = 0;
  float x[16], best = INFINITY;
  for (int d = 0; d < 16; ++d) x[d] = points[d * gridDim.x * 256 + i];
  for (int from = 0; from < count; from += 64) {
    __syncthreads();
    for (int k = threadIdx.x; k < 1024; k += 256) tile[k] = centres[from * 16 + k];
    __syncthreads();
#pragma unroll 2
    for (int c = 0; c < 64; ++c) {
      float product = 0, square = 0;
      for (int d = 0; d < 16; ++d) {
        product += x[d] * tile[c * 16 + d];
        square += tile[c * 16 + d] * tile[c * 16 + d];  // <- nearest_squared
      }
      if (square - 2 * product < best) best = square - 2 * product, which = from + c;
    }
  }
  out[i] = which;
}

__global__ void nearest_given(const float* __restrict__ points, const float* __restrict__ centres, const float* __restrict__ squares, float* __restrict__ out, int count) {
  __shared__ float tile[64 * 16], given[64];
  int i = blockIdx.x * 256 + threadIdx.x, which = 0;
  float x[16], best = INFINITY;
  for (int d = 0; d < 16; ++d) x[d] = points[d * gridDim.x * 256 + i];
  for (int from = 0; from < count; from += 64) {
    __syncthreads();
    for (int k = threadIdx.x; k < 1024; k += 256) tile[k] = centres[from * 16 + k];
    if (threadIdx.x < 64) given[threadIdx.x] = squares[from + threadIdx.x];
    __syncthreads();
#pragma unroll 2
    for (int c = 0; c < 64; ++c) {
      float product = 0;
      for (int d = 0; d < 16; ++d) product += x[d] * tile[c * 16 + d];
      if (given[c] - 2 * product < best) best = given[c] - 2 * product, which = from + c;
    }
  }
  out[i] = which;
}

int main(int argc, char** argv) {
  Program p(argc, argv);
  float *in = p.in<float>(), *out = p.out<float>(), *more = p.more<float>();
  float4 *in4 = p.in<float4>(), *out4 = p.out<float4>();
  float2* out2 = p.out<float2>();
  auto floats = [=] { fill(in, 1 << 28, [=] __device__(size_t i) { return 0.05f + 0.9f * uniform(unsigned(i), 1); }); };
  auto constants = [=] {
    float host[64];
    for (int k = 0; k < 64; ++k) host[k] = uniform(k, 5);
    CHECK(cudaMemcpyToSymbol(weights, host, sizeof host));
    floats();
  };

  {
    constexpr size_t H = 2160, W = 3840, C = 8;
    p.set();
    p.kernel<float>("planes_by_division", H * W * C, floats, [=] { planes_by_division<<<blocks_for(H * W * C, 256), 256>>>(in, out, H, W, C); });
    p.kernel<float>("planes_by_grid", H * W * C, floats, [=] { planes_by_grid<<<dim3(W / 256, H, C), 256>>>(in, out, H, W, C); });
  }
  for (int n : {1 << 26, 1 << 22}) {
    bool small = n == 1 << 22;
    int tail = n >> 18;
    // The second and the fourth dimension change places.
    Shape shape{{tail, 16, 32, 16, 32}, {16 * 32 * 16 * 32, 32, 32 * 16, 32 * 16 * 32, 1}};
    p.set();
    p.kernel<float>(small ? "permute-4M" : "permute", n, floats, [=] { permute<<<n / 256, 256>>>(in, out, shape, n); });
    p.kernel<float>(small ? "permute_powers-4M" : "permute_powers", n, floats, [=] { permute_powers<<<n / 256, 256>>>(in, out, shape, n); });
  }
  p.set(1e-5);
  p.kernel<float>("smooth_clamped", 8000 * 4000, floats, [=] { smooth_clamped<<<dim3(250, 500), dim3(32, 8)>>>(in, out, 8000, 4000); });
  p.kernel<float>("smooth_inside", 8000 * 4000, floats, [=] { smooth_inside<<<dim3(250, 500), dim3(32, 8)>>>(in, out, 8000, 4000); });

  constexpr int N = 1 << 25;
  p.set(1e-4);
  p.kernel<float>("powers", N, constants, [=] { powers<<<N / 256, 256>>>(in, out, N, 40); });
  p.kernel<float>("horner", N, constants, [=] { horner<<<N / 256, 256>>>(in, out, N, 40); });

  constexpr int POINTS = 1 << 21;
  auto points = [=] {
    fill_uniform(in, POINTS * 4, 2);
    fill_uniform(more, 64, 3);
  };
  p.set(1e-3);
  p.kernel<float>("turn_each", POINTS * 4, points, [=] { turn_each<<<POINTS / 256, 256>>>(in4, out4, more, 32); });
  p.kernel<float>("turn_prepared", POINTS * 4, points, [=] { turn_prepared<<<POINTS / 256, 256>>>(in4, out4, more, 32); });

  constexpr int MANY = SMS * 16 * 256;
  p.set(1e-3);
  p.kernel<float>("resonate_apart", MANY * 4, floats, [=] { resonate_apart<<<SMS * 16, 256>>>(in, out, 1024); });
  p.kernel<float>("resonate_fused", MANY * 4, floats, [=] { resonate_fused<<<SMS * 16, 256>>>(in, out, 1024); });

  p.set(1e-3);
  p.kernel<float>("series_rolled", MANY, constants, [=] { series_rolled<<<SMS * 16, 256>>>(in, out, 64, 32); });
  p.kernel<float>("series_unrolled", MANY, constants, [=] { series_unrolled<<<SMS * 16, 256>>>(in, out, 64, 32); });

  auto layer = [=] {
    floats();
    fill_uniform(more, 4096, 4);
  };
  p.set(1e-3);
  p.kernel<float>("layer_rolled", MANY * 8, layer, [=] { layer_rolled<<<SMS * 16, 256>>>(more, in, out, 256); });
  p.kernel<float>("layer_unrolled", MANY * 8, layer, [=] { layer_unrolled<<<SMS * 16, 256>>>(more, in, out, 256); });

  signed char* small_weights = p.more<signed char>();
  auto bytes = [=] {
    floats();
    fill(small_weights, 4096, [=] __device__(size_t i) { return static_cast<signed char>(hashed(unsigned(i), 6)); });
  };
  p.set(1e-4);
  p.kernel<float>("layer_bytes", MANY, bytes, [=] { layer_bytes<<<SMS * 16, 256>>>(small_weights, in, out, MANY); });
  p.kernel<float>("layer_floats", MANY, bytes, [=] { layer_floats<<<SMS * 16, 256>>>(small_weights, in, out, MANY); });

  p.set(1e-4);
  p.kernel<float>("quantize_integers", N, floats, [=] { quantize_integers<<<N / 256, 256>>>(in, out, N); });
  p.kernel<float>("quantize_added", N, floats, [=] { quantize_added<<<N / 256, 256>>>(in, out, N); });

  for (int n : {1 << 26, 1 << 21}) {
    bool small = n == 1 << 21;
    p.set(1e-3);
    p.kernel<float>(small ? "curve_double-2M" : "curve_double", n, floats, [=] { curve_double<<<n / 256, 256>>>(in, out, n); });
    p.kernel<float>(small ? "curve_single-2M" : "curve_single", n, floats, [=] { curve_single<<<n / 256, 256>>>(in, out, n); });
  }
  constexpr int BODIES = SMS * 4 * 256;
  p.set(1e-3);
  p.kernel<float>("attract_double", BODIES * 4, floats, [=] { attract_double<<<SMS * 4, 256>>>(in4, out4, 2048); });
  p.kernel<float>("attract_single", BODIES * 4, floats, [=] { attract_single<<<SMS * 4, 256>>>(in4, out4, 2048); });

  p.set(1e-3);
  p.kernel<float>("correct_power", N, floats, [=] { correct_power<<<N / 256, 256>>>(in, out, N); });
  p.kernel<float>("correct_root", N, floats, [=] { correct_root<<<N / 256, 256>>>(in, out, N); });

  p.set(0.05);
  p.kernel<float>("spectrum_sines", SMS * 8 * 256 * 2, floats, [=] { spectrum_sines<<<SMS * 8, 256>>>(in, out2, 1024); });
  p.kernel<float>("spectrum_turned", SMS * 8 * 256 * 2, floats, [=] { spectrum_turned<<<SMS * 8, 256>>>(in, out2, 1024); });

  p.set(1e-4);
  p.kernel<float>("shade_lanes", 1 << 23, floats, [=] { shade_lanes<<<(1 << 23) / 128, 128>>>(in, out); });
  p.kernel<float>("shade_warps", 1 << 23, floats, [=] { shade_warps<<<(1 << 23) / 128, 128>>>(in, out); });

  constexpr unsigned LISTS = 1 << 21;
  int *order = p.more<int>(), *lengths = p.more<int>(64 * MB);
  auto lists = [=] {  // 244002641u undoes the multiplication by 2654435761
    fill_uniform(in, LISTS, 7);
    fill(lengths, LISTS, [=] __device__(size_t i) { return int(unsigned(i) * 2654435761u % LISTS / (LISTS / 256)); });
  };
  auto mixed = [=] {
    lists();
    fill(order, LISTS, [=] __device__(size_t i) { return int(i); });
  };
  auto sorted = [=] {
    lists();
    fill(order, LISTS, [=] __device__(size_t i) { return int((unsigned(i) % (LISTS / 64) * 64 + unsigned(i) / (LISTS / 64)) * 244002641u % LISTS); });
  };
  p.set(1e-4);
  p.kernel<float>("sum_lists-mixed", LISTS, mixed, [=] { sum_lists<<<LISTS / 256, 256>>>(in, order, lengths, out); });
  p.kernel<float>("sum_lists-sorted", LISTS, sorted, [=] { sum_lists<<<LISTS / 256, 256>>>(in, order, lengths, out); });

  p.set(1e-4);
  p.kernel<float>("normalize_one", 1 << 24, floats, [=] { normalize_one<<<(1 << 24) / 256, 256>>>(in, out); });
  p.kernel<float>("normalize_warp", 1 << 24, floats, [=] { normalize_warp<<<(1 << 24) / 256, 256>>>(in, out); });
  constexpr int SHORT = 1 << 19;
  p.set(1e-4);
  p.kernel<float>("short_rows", SHORT * 20, floats, [=] { short_rows<<<SHORT / 8, 256>>>(in, out, SHORT); });
  p.kernel<float>("flat_rows", SHORT * 20, floats, [=] { flat_rows<<<SHORT * 20 / 256, 256>>>(in, out, SHORT); });

  constexpr int SAMPLES = 1 << 24;
  Sample* structs = p.in<Sample>();
  auto spread = [=] { fill(in, size_t(SAMPLES) * 8, [=] __device__(size_t i) { return uniform(unsigned(i / 8), 9); }); };
  auto dense = [=] { fill_uniform(in, SAMPLES, 9); };
  p.set(1e-3);
  p.kernel<float>("samples_both", SAMPLES, spread, [=] { samples_both<<<SAMPLES / 256, 256>>>(structs, out, SAMPLES); });
  p.kernel<float>("samples_double", SAMPLES, dense, [=] { samples_double<<<SAMPLES / 256, 256>>>(in, out, SAMPLES); });
  p.kernel<float>("samples_structs", SAMPLES, spread, [=] { samples_structs<<<SAMPLES / 256, 256>>>(structs, out, SAMPLES); });
  p.kernel<float>("samples_neither", SAMPLES, dense, [=] { samples_neither<<<SAMPLES / 256, 256>>>(in, out, SAMPLES); });

  p.set();
  p.kernel<float>("gelu", 1 << 27, floats, [=] { gelu<<<(1 << 25) / 256, 256>>>(in4, out4, 1 << 25); });
  p.set();
  p.kernel<float>("anneal", MANY, floats, [=] { anneal<<<SMS * 16, 256>>>(in, out, 3.0); });
  p.set();
  p.kernel<float>("add_rows", 1 << 27, floats, [=] { add_rows<<<SMS * 8, 256>>>(in4, out4, 37, 1 << 17); });
  p.set();
  p.kernel<float>("rare_branch", 1 << 26, floats, [=] { rare_branch<<<(1 << 26) / 256, 256>>>(in, out, 1 << 26); });

  auto payments = [=] {
    fill_uniform(in, N, 1);
    fill_uniform(more, 64, 2);
  };
  p.set(1e-4);
  p.kernel<float>("discount_each", N, payments, [=] { discount_each<<<N / 256, 256>>>(in, more, out, N, 48); });
  p.kernel<float>("discount_running", N, payments, [=] { discount_running<<<N / 256, 256>>>(in, more, out, N, 48); });

  constexpr int SOUGHT = 1 << 20, CENTRES = 1024;
  float* squares = p.more<float>(MB);
  auto centres = [=] {
    fill_uniform(in, SOUGHT * 16, 1);
    fill_uniform(more, CENTRES * 16, 2);
    CHECK(cudaDeviceSynchronize());
    fill(squares, CENTRES, [=] __device__(size_t c) {
      float square = 0;
      for (int d = 0; d < 16; ++d) square += more[c * 16 + d] * more[c * 16 + d];
      return square;
    });
  };
  p.set();
  p.kernel<float>("nearest_squared", SOUGHT, centres, [=] { nearest_squared<<<SOUGHT / 256, 256>>>(in, more, out, CENTRES); });
  p.kernel<float>("nearest_given", SOUGHT, centres, [=] { nearest_given<<<SOUGHT / 256, 256>>>(in, more, squares, out, CENTRES); });

  p.set(1e-3);
  p.kernel<float>("layer_rolled-again", MANY * 8, layer, [=] { layer_rolled<<<SMS * 16, 256>>>(more, in, out, 256); });
  p.kernel<float>("layer_unrolled-again", MANY * 8, layer, [=] { layer_unrolled<<<SMS * 16, 256>>>(more, in, out, 256); });
  p.kernel<float>("layer_rolled_four", MANY * 8, layer, [=] { layer_rolled_four<<<SMS * 4, 256>>>(more, in, out, 256); });
  return p.end();
}
