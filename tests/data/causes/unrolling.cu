// Kernels whose loops are unrolled by four, each beside one whose loop has more loads under way.
#include "program.cuh"

// ---- the sum of an array by one block an SM: four loads of 16 bytes under way a thread, then sixteen

template <int Unrolled>
__device__ __forceinline__ float sum_of(const float4* __restrict__ in, int n) {
  float sum = 0;
  int step = gridDim.x * blockDim.x;
#pragma unroll 1
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += Unrolled * step) {
    float4 v[Unrolled];
#pragma unroll
    for (int k = 0; k < Unrolled; ++k) v[k] = in[i + k * step];  // <- sum_by_four
#pragma unroll
    for (int k = 0; k < Unrolled; ++k) sum += v[k].x + v[k].y + v[k].z + v[k].w;
  }
  return sum;
}

__global__ void __launch_bounds__(256, 1) sum_by_four(const float4* __restrict__ in, float* __restrict__ out, int n) { out[blockIdx.x * blockDim.x + threadIdx.x] = sum_of<4>(in, n); }

__global__ void __launch_bounds__(256, 1) sum_by_sixteen(const float4* __restrict__ in, float* __restrict__ out, int n) { out[blockIdx.x * blockDim.x + threadIdx.x] = sum_of<16>(in, n); }

// ---- products of a matrix and a vector, a row of it a warp: four columns under way a lane, then sixteen

template <int Unrolled>
__device__ __forceinline__ void product(const float* __restrict__ matrix, const float* __restrict__ vector, float* __restrict__ out, int columns) {
  int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
  const float* from = matrix + size_t(row) * columns;
  float sum = 0;
#pragma unroll 1
  for (int k = lane; k < columns; k += 32 * Unrolled) {
    float v[Unrolled];
#pragma unroll
    for (int j = 0; j < Unrolled; ++j) v[j] = from[k + 32 * j] * vector[k + 32 * j];  // <- product_by_four
#pragma unroll
    for (int j = 0; j < Unrolled; ++j) sum += v[j];
  }
  for (int by = 16; by; by /= 2) sum += __shfl_xor_sync(~0u, sum, by);
  if (lane == 0) out[row] = sum;
}

__global__ void __launch_bounds__(128, 1) product_by_four(const float* __restrict__ matrix, const float* __restrict__ vector, float* __restrict__ out, int columns) { product<4>(matrix, vector, out, columns); }

__global__ void __launch_bounds__(128, 1) product_by_sixteen(const float* __restrict__ matrix, const float* __restrict__ vector, float* __restrict__ out, int columns) { product<16>(matrix, vector, out, columns); }

// ---- sum_by_four by as many blocks as the SMs hold, which add their parts to the same results

__global__ void __launch_bounds__(256, 1) sum_by_four_blocks(const float4* __restrict__ in, float* __restrict__ out, int n, int results) { atomicAdd(&out[(blockIdx.x * blockDim.x + threadIdx.x) % results], sum_of<4>(in, n)); }

// ---- product_by_four with four neighbouring columns in each access

__global__ void __launch_bounds__(128, 1) product_by_four_wide(const float4* __restrict__ matrix, const float4* __restrict__ vector, float* __restrict__ out, int columns) {
  int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
  const float4* from = matrix + size_t(row) * (columns / 4);
  float sum = 0;
#pragma unroll 1
  for (int k = lane; k < columns / 4; k += 32 * 4) {
    float v[4];
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      float4 left = from[k + 32 * j], right = vector[k + 32 * j];
      v[j] = left.x * right.x + left.y * right.y + left.z * right.z + left.w * right.w;
    }
#pragma unroll
    for (int j = 0; j < 4; ++j) sum += v[j];
  }
  for (int by = 16; by; by /= 2) sum += __shfl_xor_sync(~0u, sum, by);
  if (lane == 0) out[row] = sum;
}

int main(int argc, char** argv) {
  Program p(argc, argv);
  float *in = p.in<float>(), *out = p.out<float>(), *vector = p.more<float>();
  float4 *in4 = p.in<float4>(), *vector4 = p.more<float4>();
  auto floats = [=] {
    fill_uniform(in, 1 << 28, 1);
    fill_uniform(vector, 1 << 20, 2);
  };
  // 128 threads, and 256 threads: a multiple of what sixteen loads of all threads take.
  for (int threads : {256, 128}) {
    int n = SMS * threads * 16 * (threads == 256 ? 96 : 48);
    auto name = [=](const char* kernel) { return std::string(kernel) + (threads == 256 ? "" : "-128"); };
    p.set(1e-4);
    p.kernel<float>(name("sum_by_four").c_str(), SMS * threads, floats, [=] { sum_by_four<<<SMS, threads>>>(in4, out, n); });
    p.kernel<float>(name("sum_by_sixteen").c_str(), SMS * threads, floats, [=] { sum_by_sixteen<<<SMS, threads>>>(in4, out, n); });
  }
  for (bool wide : {true, false}) {
    int columns = wide ? 65536 : 16384, rows = wide ? SMS * 8 : SMS * 16;
    auto name = [=](const char* kernel) { return std::string(kernel) + (wide ? "" : "-16K"); };
    p.set(1e-3);
    p.kernel<float>(name("product_by_four").c_str(), rows, floats, [=] { product_by_four<<<rows / 4, 128>>>(in, vector, out, columns); });
    p.kernel<float>(name("product_by_sixteen").c_str(), rows, floats, [=] { product_by_sixteen<<<rows / 4, 128>>>(in, vector, out, columns); });
  }

  for (int threads : {256, 128}) {
    int n = SMS * threads * 16 * (threads == 256 ? 96 : 48), results = SMS * threads;
    auto name = [=](const char* kernel) { return std::string(kernel) + (threads == 256 ? "" : "-128"); };
    auto again = [=](const char* kernel) { return name(kernel) + "-again"; };
    p.set(1e-4);
    p.kernel<float>(again("sum_by_four").c_str(), results, floats, [=] { sum_by_four<<<SMS, threads>>>(in4, out, n); });
    p.kernel<float>(again("sum_by_sixteen").c_str(), results, floats, [=] { sum_by_sixteen<<<SMS, threads>>>(in4, out, n); });
    p.kernel<float>(name("sum_by_four_blocks").c_str(), results, floats, [=] { sum_by_four_blocks<<<SMS * 2048 / threads, threads>>>(in4, out, n, results); });
  }
  for (bool wide : {true, false}) {
    int columns = wide ? 65536 : 16384, rows = wide ? SMS * 8 : SMS * 16;
    auto name = [=](const char* kernel) { return std::string(kernel) + (wide ? "" : "-16K"); };
    auto again = [=](const char* kernel) { return name(kernel) + "-again"; };
    p.set(1e-3);
    p.kernel<float>(again("product_by_four").c_str(), rows, floats, [=] { product_by_four<<<rows / 4, 128>>>(in, vector, out, columns); });
    p.kernel<float>(again("product_by_sixteen").c_str(), rows, floats, [=] { product_by_sixteen<<<rows / 4, 128>>>(in, vector, out, columns); });
    p.kernel<float>(name("product_by_four_wide").c_str(), rows, floats, [=] { product_by_four_wide<<<rows / 4, 128>>>(in4, vector4, out, columns); });
  }
  return p.end();
}
