// Kernels that read constants one after the other, the same for all threads. A small cache serves them, unless a loop reads more than it holds.
#include "program.cuh"

// ---- the potential of charges at the points of a plane: a point a thread, then eight, or with the charges in shared memory

constexpr int CHARGES = 4000, SIDE = 1024, EIGHT = 8, STAGED = 256;

__constant__ float4 charges[CHARGES];  // place and strength

__device__ __forceinline__ float part_of(float4 charge, float x, float y, float z) {
  float dx = x - charge.x, dy = y - charge.y, dz = z - charge.z;
  return charge.w * rsqrtf(dx * dx + dy * dy + dz * dz + 1e-4f);
}

__global__ void potential_each(float* __restrict__ out, float step, int count) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  float sum = 0;
  for (int i = 0; i < count; ++i) sum += part_of(charges[i], x * step, y * step, 0.5f);  // <- potential_each
  out[y * SIDE + x] = sum;
}

__global__ void potential_eight(float* __restrict__ out, float step, int count) {
  int x = blockIdx.x * blockDim.x * EIGHT + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  float sum[EIGHT] = {};
  for (int i = 0; i < count; ++i)
#pragma unroll
    for (int k = 0; k < EIGHT; ++k) sum[k] += part_of(charges[i], (x + k * blockDim.x) * step, y * step, 0.5f);
#pragma unroll
  for (int k = 0; k < EIGHT; ++k) out[y * SIDE + x + k * blockDim.x] = sum[k];
}

__global__ void potential_staged(const float4* __restrict__ given, float* __restrict__ out, float step, int count) {
  __shared__ float4 own[STAGED];
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  int thread = threadIdx.y * blockDim.x + threadIdx.x;
  float sum = 0;
  for (int first = 0; first < count; first += STAGED) {
    if (first + thread < count) own[thread] = given[first + thread];
    __syncthreads();
    for (int i = 0; i < min(STAGED, count - first); ++i) sum += part_of(own[i], x * step, y * step, 0.5f);
    __syncthreads();
  }
  out[y * SIDE + x] = sum;
}

int main(int argc, char** argv) {
  Program p(argc, argv);
  float* out = p.out<float>();
  float4* given = p.more<float4>();
  auto place = [=] {
    fill(given, CHARGES, [] __device__(size_t i) {
      unsigned at = static_cast<unsigned>(i);
      return make_float4(uniform(at, 1), uniform(at, 2), uniform(at, 3), uniform(at, 4));
    });
    CHECK(cudaMemcpyToSymbol(charges, given, sizeof(charges), 0, cudaMemcpyDeviceToDevice));
  };
  float step = 1.0f / SIDE;
  dim3 block(32, 8), grid(SIDE / 32, SIDE / 8), fewer(SIDE / 32 / EIGHT, SIDE / 8);

  p.set(1e-4);
  p.kernel<float>("potential_each", SIDE * SIDE, place, [=] { potential_each<<<grid, block>>>(out, step, CHARGES); });
  p.kernel<float>("potential_eight", SIDE * SIDE, place, [=] { potential_eight<<<fewer, block>>>(out, step, CHARGES); });
  p.kernel<float>("potential_staged", SIDE * SIDE, place, [=] { potential_staged<<<grid, block>>>(given, out, step, CHARGES); });

  // So few charges stay in the cache once they have come.
  constexpr int FEW = 64;
  p.set(1e-4);
  p.kernel<float>("potential_of_few", SIDE * SIDE, place, [=] { potential_each<<<grid, block>>>(out, step, FEW); });
  p.kernel<float>("potential_eight_of_few", SIDE * SIDE, place, [=] { potential_eight<<<fewer, block>>>(out, step, FEW); });
  return p.end();
}
