// Kernels whose blocks go from phase to phase through barriers, with blocks of which an SM holds one, each beside one whose phases overlap with those of others.
#include "program.cuh"

constexpr int TEAM = 256;  // threads that work on one row or one ring, alone in their block or beside three others

// ---- rows of 8192 floats are normalised, each by a team: sums over the team by a tree in shared memory, or by shuffles

constexpr int ROW = 8192, ROWS = 8192, EACH = ROW / TEAM / 4;  // float4 a thread

__device__ __forceinline__ float sum_of(float4 v) { return v.x + v.y + v.z + v.w; }

template <int THREADS>
__device__ __forceinline__ float sum_by_tree(float value) {
  __shared__ float sums[THREADS];
  int t = threadIdx.x % TEAM;
  float* mine = sums + (threadIdx.x - t);
  __syncthreads();
  mine[t] = value;
  __syncthreads();                         // <- rows_tree
#pragma unroll 1
  for (int half = TEAM / 2; half; half /= 2) {
    if (t < half) mine[t] += mine[t + half];  // <- rows_tree
    __syncthreads();                       // <- rows_tree
  }
  return mine[0];
}

template <int THREADS>
__device__ __forceinline__ float sum_by_shuffles(float value) {
  __shared__ float sums[THREADS / 32];
  for (int far = 16; far; far /= 2) value += __shfl_xor_sync(~0u, value, far);
  __syncthreads();
  if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = value;
  __syncthreads();
  const float* mine = sums + threadIdx.x / TEAM * (TEAM / 32);
  float sum = 0;
#pragma unroll
  for (int i = 0; i < TEAM / 32; ++i) sum += mine[i];
  return sum;
}

template <int THREADS, bool BY_TREE>
__device__ __forceinline__ void normalize(const float4* __restrict__ in, float4* __restrict__ out) {
  size_t row = size_t(blockIdx.x) * (THREADS / TEAM) + threadIdx.x / TEAM;
  const float4* from = in + row * (ROW / 4) + threadIdx.x % TEAM;
  float4* to = out + row * (ROW / 4) + threadIdx.x % TEAM;
  float4 v[EACH];
#pragma unroll
  for (int i = 0; i < EACH; ++i) v[i] = from[i * TEAM];
  float sum = 0, squares = 0;
#pragma unroll
  for (int i = 0; i < EACH; ++i) sum += sum_of(v[i]);
  float mean = (BY_TREE ? sum_by_tree<THREADS>(sum) : sum_by_shuffles<THREADS>(sum)) / ROW;
#pragma unroll
  for (int i = 0; i < EACH; ++i) {
    v[i] = make_float4(v[i].x - mean, v[i].y - mean, v[i].z - mean, v[i].w - mean);
    squares += sum_of(make_float4(v[i].x * v[i].x, v[i].y * v[i].y, v[i].z * v[i].z, v[i].w * v[i].w));
  }
  float scale = rsqrtf((BY_TREE ? sum_by_tree<THREADS>(squares) : sum_by_shuffles<THREADS>(squares)) / ROW + 1e-5f);
#pragma unroll
  for (int i = 0; i < EACH; ++i) to[i * TEAM] = make_float4(v[i].x * scale, v[i].y * scale, v[i].z * scale, v[i].w * scale);
}

// With one block of 1024 threads on an SM, each thread may have 64 registers, and uses more than the 32 with which an SM would hold two.
template <int THREADS>
__global__ void __launch_bounds__(THREADS) rows_tree(const float4* __restrict__ in, float4* __restrict__ out) {
  normalize<THREADS, true>(in, out);
}

template <int THREADS>
__global__ void __launch_bounds__(THREADS) rows_shuffles(const float4* __restrict__ in, float4* __restrict__ out) {
  normalize<THREADS, false>(in, out);
}

// ---- rings of 7680 floats are smoothed three times in shared memory, each by a team: four of them in a block of 1024 threads fill over half of it

constexpr int RING = 7680, RINGS = 8704, PASSES = 3, POINTS = RING / TEAM;

template <int THREADS>
__global__ void __launch_bounds__(THREADS) smooth(const float* __restrict__ in, float* __restrict__ out) {
  extern __shared__ float rings[];
  int t = threadIdx.x % TEAM;
  float* ring = rings + threadIdx.x / TEAM * RING;
  size_t begin = (size_t(blockIdx.x) * (THREADS / TEAM) + threadIdx.x / TEAM) * RING;
  float v[POINTS];
#pragma unroll
  for (int i = 0; i < POINTS; ++i) v[i] = in[begin + i * TEAM + t];
#pragma unroll 1
  for (int pass = 0; pass < PASSES; ++pass) {
#pragma unroll
    for (int i = 0; i < POINTS; ++i) ring[i * TEAM + t] = v[i];
    __syncthreads();  // <- smooth
#pragma unroll
    for (int i = 0; i < POINTS; ++i) {
      int at = i * TEAM + t;
      float left = ring[at ? at - 1 : RING - 1], right = ring[at < RING - 1 ? at + 1 : 0];
      v[i] = 0.5f * v[i] + 0.25f * (left + right);
    }
    __syncthreads();  // <- smooth
  }
#pragma unroll
  for (int i = 0; i < POINTS; ++i) out[begin + i * TEAM + t] = v[i];
}

int main(int argc, char** argv) {
  Program p(argc, argv);
  const float* in = p.in<float>();
  float* out = p.out<float>();
  const float4* rows_in = p.in<float4>();
  float4* rows_out = p.out<float4>();
  auto rows = [&] { fill_uniform(p.in<float>(), size_t(ROWS) * ROW, 1); };
  auto rings = [&] { fill_uniform(p.in<float>(), size_t(RINGS) * RING, 2); };

  // With that much shared memory beside it, an SM holds four blocks of 256 threads: as many warps as of one block of 1024.
  constexpr int FOURTH = 50 * 1024;
  CHECK(cudaFuncSetAttribute(rows_tree<256>, cudaFuncAttributeMaxDynamicSharedMemorySize, FOURTH));
  p.set(1e-4);
  p.kernel<float>("rows_tree-1024", size_t(ROWS) * ROW, rows, [=] { rows_tree<1024><<<ROWS / 4, 1024>>>(rows_in, rows_out); });
  p.kernel<float>("rows_tree-256", size_t(ROWS) * ROW, rows, [=] { rows_tree<256><<<ROWS, 256>>>(rows_in, rows_out); });
  p.kernel<float>("rows_tree-256x4", size_t(ROWS) * ROW, rows, [=] { rows_tree<256><<<ROWS, 256, FOURTH>>>(rows_in, rows_out); });
  p.kernel<float>("rows_shuffles-1024", size_t(ROWS) * ROW, rows, [=] { rows_shuffles<1024><<<ROWS / 4, 1024>>>(rows_in, rows_out); });
  p.kernel<float>("rows_shuffles-256", size_t(ROWS) * ROW, rows, [=] { rows_shuffles<256><<<ROWS, 256>>>(rows_in, rows_out); });

  constexpr int OF_TEAM = RING * sizeof(float);
  CHECK(cudaFuncSetAttribute(smooth<1024>, cudaFuncAttributeMaxDynamicSharedMemorySize, 4 * OF_TEAM));
  CHECK(cudaFuncSetAttribute(smooth<256>, cudaFuncAttributeMaxDynamicSharedMemorySize, OF_TEAM));
  p.set(1e-6);
  p.kernel<float>("smooth-1024", size_t(RINGS) * RING, rings, [=] { smooth<1024><<<RINGS / 4, 1024, 4 * OF_TEAM>>>(in, out); });
  p.kernel<float>("smooth-256", size_t(RINGS) * RING, rings, [=] { smooth<256><<<RINGS, 256, OF_TEAM>>>(in, out); });
  return p.end();
}
