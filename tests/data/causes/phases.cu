// Kernels whose blocks go from phase to phase through barriers: one block of 1024 threads on an SM, beside four of 256 that do the same work with as many warps.
#include "program.cuh"

constexpr int TEAM = 256;  // threads that work on one row or one ring, alone in their block or beside three others
// So much shared memory of each block, used or not, lets an SM hold one block of 1024 threads, or four of 256.
constexpr int OF_ONE = 120 * 1024, OF_FOUR = 50 * 1024;

// ---- rows of 1024 floats are normalised, each by a team: sums over the team by a tree in shared memory, or by shuffles

constexpr int ROW = 1024, ROWS = 65536;

__device__ __forceinline__ float sum_of(float4 v) { return v.x + v.y + v.z + v.w; }

template <int THREADS>
__device__ __forceinline__ float sum_by_tree(float value) {
  __shared__ float sums[THREADS];
  int t = threadIdx.x % TEAM;
  float* mine = sums + (threadIdx.x - t);
  __syncthreads();
  mine[t] = value;
  __syncthreads();  // <- rows_tree
#pragma unroll 1
  for (int half = TEAM / 2; half; half /= 2) {
    if (t < half) mine[t] += mine[t + half];  // <- rows_tree
    __syncthreads();                          // <- rows_tree
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
  size_t at = size_t(blockIdx.x) * THREADS + threadIdx.x;
  float4 v = in[at];
  float mean = (BY_TREE ? sum_by_tree<THREADS>(sum_of(v)) : sum_by_shuffles<THREADS>(sum_of(v))) / ROW;
  v = make_float4(v.x - mean, v.y - mean, v.z - mean, v.w - mean);
  float squares = sum_of(make_float4(v.x * v.x, v.y * v.y, v.z * v.z, v.w * v.w));
  float scale = rsqrtf((BY_TREE ? sum_by_tree<THREADS>(squares) : sum_by_shuffles<THREADS>(squares)) / ROW + 1e-5f);
  out[at] = make_float4(v.x * scale, v.y * scale, v.z * scale, v.w * scale);
}

template <int THREADS>
__global__ void __launch_bounds__(THREADS) rows_tree(const float4* __restrict__ in, float4* __restrict__ out) {
  normalize<THREADS, true>(in, out);
}

template <int THREADS>
__global__ void __launch_bounds__(THREADS) rows_shuffles(const float4* __restrict__ in, float4* __restrict__ out) {
  normalize<THREADS, false>(in, out);
}

// ---- cells on a ring react to their neighbours, step by step: a phase reads shared memory all the time, and the next one computes all the time

constexpr int STEPS = 64, NEIGHBOURS = 8, REACTIONS = 16, RINGS = SMS * 4 * 16;

// For each warp, 8 loads of 16 bytes keep shared memory busy for 32 cycles. Its 128 multiply-adds take the SM as long, because four
// schedulers work at once.
template <int THREADS>
__global__ void __launch_bounds__(THREADS) react(const float4* __restrict__ in, float4* __restrict__ out) {
  __shared__ float4 cells[THREADS / TEAM][TEAM + NEIGHBOURS];  // the first cells again behind the last one
  int t = threadIdx.x % TEAM;
  float4* ring = cells[threadIdx.x / TEAM];
  size_t at = size_t(blockIdx.x) * THREADS + threadIdx.x;
  float4 own = in[at];
#pragma unroll 1
  for (int step = 0; step < STEPS; ++step) {
    ring[t] = own;
    if (t < NEIGHBOURS) ring[TEAM + t] = own;
    __syncthreads();  // <- react
    float4 sum = {};
#pragma unroll
    for (int k = 1; k <= NEIGHBOURS; ++k) {
      float4 other = ring[t + k];
      sum = make_float4(sum.x + other.x, sum.y + other.y, sum.z + other.z, sum.w + other.w);
    }
    __syncthreads();  // <- react
    float *x = &own.x, *drive = &sum.x;
#pragma unroll
    for (int k = 0; k < REACTIONS; ++k)
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        x[i] = fmaf(x[i], 0.75f, drive[i]);
        drive[i] = fmaf(drive[i], -0.5f, 0.01f);
      }
#pragma unroll
    for (int i = 0; i < 4; ++i) x[i] = x[i] - floorf(x[i]);
  }
  out[at] = own;
}

int main(int argc, char** argv) {
  Program p(argc, argv);
  const float4* in = p.in<float4>();
  float4* out = p.out<float4>();
  auto rows = [&] { fill_uniform(p.in<float>(), size_t(ROWS) * ROW, 1); };
  auto cells = [&] { fill_uniform(p.in<float>(), size_t(RINGS) * TEAM * 4, 2); };
  if (argc < 2 || std::strcmp(argv[1], "--list")) {
    for (auto kernel : {rows_tree<1024>, rows_shuffles<1024>}) CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, OF_ONE));
    CHECK(cudaFuncSetAttribute(rows_tree<256>, cudaFuncAttributeMaxDynamicSharedMemorySize, OF_FOUR));
    CHECK(cudaFuncSetAttribute(react<1024>, cudaFuncAttributeMaxDynamicSharedMemorySize, OF_ONE));
    CHECK(cudaFuncSetAttribute(react<256>, cudaFuncAttributeMaxDynamicSharedMemorySize, OF_FOUR));
  }

  p.set(1e-4);
  p.kernel<float>("rows_tree-1024", size_t(ROWS) * ROW, rows, [=] { rows_tree<1024><<<ROWS / 4, 1024, OF_ONE>>>(in, out); });
  p.kernel<float>("rows_tree-256", size_t(ROWS) * ROW, rows, [=] { rows_tree<256><<<ROWS, 256, OF_FOUR>>>(in, out); });
  // Without that shared memory, an SM holds two blocks.
  p.kernel<float>("rows_tree-1024-free", size_t(ROWS) * ROW, rows, [=] { rows_tree<1024><<<ROWS / 4, 1024>>>(in, out); });
  p.kernel<float>("rows_shuffles-1024", size_t(ROWS) * ROW, rows, [=] { rows_shuffles<1024><<<ROWS / 4, 1024, OF_ONE>>>(in, out); });

  p.set(1e-5);
  p.kernel<float>("react-1024", size_t(RINGS) * TEAM * 4, cells, [=] { react<1024><<<RINGS / 4, 1024, OF_ONE>>>(in, out); });
  p.kernel<float>("react-256", size_t(RINGS) * TEAM * 4, cells, [=] { react<256><<<RINGS, 256, OF_FOUR>>>(in, out); });
  return p.end();
}
