// Kernels that have nothing to gain: each runs at the rate of one part of the GPU.
#include <mma.h>

#include "program.cuh"

__global__ void copy_vectors(const float4* __restrict__ in, float4* __restrict__ out, int n) {
  int i = blockIdx.x * 1024 + threadIdx.x;
#pragma unroll
  for (int k = 0; k < 4; ++k)
    if (i + k * 256 < n) __stcs(out + i + k * 256, __ldcs(in + i + k * 256));
}

__global__ void read_vectors(const float4* __restrict__ in, float* __restrict__ out, int n) {
  float sum = 0;
  int step = gridDim.x * blockDim.x;
#pragma unroll 8
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
    float4 v = in[i];
    sum += v.x + v.y + v.z + v.w;
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

__global__ void fill_vectors(float4* __restrict__ out, int n, float value) {
  int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n) out[i] = make_float4(value, value, value, value);
}

// 16 MB, which the L2 holds, read over and over by blocks that begin at different places.
__global__ void read_in_l2(const float4* __restrict__ in, float* __restrict__ out, int n, int rounds) {
  float sum = 0;
  for (int round = 0; round < rounds; ++round) {
    int begin = (blockIdx.x + round * 17) % gridDim.x * blockDim.x + threadIdx.x;
#pragma unroll 8
    for (int i = begin; i < n; i += gridDim.x * blockDim.x) {
      float4 v = __ldcg(in + i);
      sum += v.x + v.y + v.z + v.w;
    }
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

__global__ void multiply_add(const float* __restrict__ in, float* __restrict__ out, int rounds) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float x[8];
  for (int j = 0; j < 8; ++j) x[j] = in[i] + j;
#pragma unroll 16
  for (int k = 0; k < rounds; ++k)
    for (int j = 0; j < 8; ++j) x[j] = __fmaf_rn(x[j], 0.999f, 0.5f);
  float sum = 0;
  for (int j = 0; j < 8; ++j) sum += x[j];
  out[i] = sum;
}

// A mandelbrot set to a fixed depth, four points a thread: FMAs with nothing between them.
__global__ void julia(float* __restrict__ out, int width, float re, float im) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float x[4], y[4];
  for (int j = 0; j < 4; ++j) x[j] = (i * 4 + j) % width * (0.2f / width), y[j] = i * 4 / width * (0.2f / width);
#pragma unroll 16
  for (int k = 0; k < 512; ++k)
    for (int j = 0; j < 4; ++j) {
      float t = __fmaf_rn(x[j], x[j], re);
      t = __fmaf_rn(-y[j], y[j], t);
      y[j] = __fmaf_rn(x[j], y[j], im);
      x[j] = t;
    }
  for (int j = 0; j < 4; ++j) out[i * 4 + j] = x[j] + y[j];
}

// Tensor cores: fragments that stay in registers, four independent sums a warp.
__global__ void multiply_fragments(const half* __restrict__ in, float* __restrict__ out, int rounds) {
  using namespace nvcuda::wmma;
  fragment<matrix_a, 16, 16, 16, half, row_major> a[2];
  fragment<matrix_b, 16, 16, 16, half, col_major> b[4];
  fragment<accumulator, 16, 16, 16, float> sum[2][4];
  for (int i = 0; i < 2; ++i) load_matrix_sync(a[i], in + i * 256, 16);
  for (int j = 0; j < 4; ++j) load_matrix_sync(b[j], in + 512 + j * 256, 16);
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 4; ++j) fill_fragment(sum[i][j], 0);
#pragma unroll 2
  for (int round = 0; round < rounds; ++round)
#pragma unroll
    for (int i = 0; i < 2; ++i)
#pragma unroll
      for (int j = 0; j < 4; ++j) mma_sync(sum[i][j], a[i], b[j], sum[i][j]);
  size_t warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 4; ++j) store_matrix_sync(out + (warp * 8 + i * 4 + j) * 256, sum[i][j], 16, mem_row_major);
}

int main(int argc, char** argv) {
  Program p(argc, argv);
  float *in = p.in<float>(), *out = p.out<float>();
  float4 *in4 = p.in<float4>(), *out4 = p.out<float4>();
  half* halves = p.in<half>();
  auto floats = [=] { fill_uniform(in, 1 << 28, 1); };
  auto none = [] {};
  for (int n : {1 << 26, 1 << 24}) {
    p.set();
    p.kernel<float>(n == 1 << 24 ? "copy_vectors-256M" : "copy_vectors", size_t(n) * 4, floats, [=] { copy_vectors<<<n / 1024, 256>>>(in4, out4, n); });
  }
  p.set();
  p.kernel<float>("read_vectors", SMS * 8 * 256, floats, [=] { read_vectors<<<SMS * 8, 256>>>(in4, out, 1 << 26); });
  p.set();
  p.kernel<float>("fill_vectors", 1 << 28, none, [=] { fill_vectors<<<(1 << 26) / 256, 256>>>(out4, 1 << 26, 1.5f); });
  p.set();
  p.kernel<float>("read_in_l2", SMS * 8 * 256, floats, [=] { read_in_l2<<<SMS * 8, 256>>>(in4, out, 1 << 20, 64); });
  p.set();
  p.kernel<float>("multiply_add", SMS * 8 * 256, floats, [=] { multiply_add<<<SMS * 8, 256>>>(in, out, 4096); });
  p.set();
  p.kernel<float>("julia", SMS * 16 * 256 * 4, none, [=] { julia<<<SMS * 16, 256>>>(out, 1024, -0.2f, 0.1f); });
  p.set();
  auto fragments = [=] { fill(halves, 4096, [=] __device__(size_t i) { return __float2half(uniform(unsigned(i), 2) * 0.01f); }); };
  p.kernel<float>("multiply_fragments", SMS * 2 * 8 * 2048, fragments, [=] { multiply_fragments<<<SMS * 2, 256>>>(halves, out, 2048); });
  return p.end();
}
