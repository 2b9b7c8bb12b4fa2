// Kernels that are each bound by one thing, by construction: what a suspect is tested against.
//
// ./bound launches all of them twice; the second launch of each is what ncu profiles.

#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

#define CHECK(call)                                                                    \
  do {                                                                                 \
    cudaError_t status = (call);                                                       \
    if (status != cudaSuccess) {                                                       \
      std::fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(status));             \
      std::exit(1);                                                                    \
    }                                                                                  \
  } while (0)

constexpr int SMS = 132;  // of an H200
constexpr int ROUNDS = 1 << 12;

// Streams 256 MB in and 256 MB out: device memory.
__global__ void hbm(const float4* in, float4* out, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) out[i] = in[i];
}

// Reads 16 MB, which L2 holds and L1 is told not to, over and over.
__global__ void l2(const float4* in, float* out) {
  float sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < 32 << 20; i += gridDim.x * blockDim.x) {
    float4 four = __ldcg(in + (i & ((1 << 20) - 1)));
    sum += four.x + four.y + four.z + four.w;
  }
  if (sum == 42) *out = sum;
}

// A load that the compiler neither moves nor merges, and that L1 may answer.
__device__ float load(const float* at) {
  float one;
  asm volatile("ld.relaxed.cta.global.f32 %0, [%1];" : "=f"(one) : "l"(at));
  return one;
}

__device__ float load(const float4* at) {
  float4 four;
  asm volatile("ld.relaxed.cta.global.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(four.x), "=f"(four.y), "=f"(four.z), "=f"(four.w) : "l"(at));
  return four.x + four.y + four.z + four.w;
}

// Reads the same few lines over and over: `stride` elements from lane to lane, `step` from load to load.
// Neighbouring floats are one line and one cycle of L1, so that the loads themselves are too many; neighbouring
// float4s are four lines; floats 32 apart are a line for each lane.
template <typename Element, int stride, int step>
__global__ void reads(const Element* in, float* out) {
  float sum = 0;
  in += (threadIdx.x & 31) * stride;
  for (int round = 0; round < ROUNDS / 32; ++round)
#pragma unroll
    for (int i = 0; i < 32; ++i) sum += load(in + i * step);
  if (sum == 42) *out = sum;
}

// Loads from shared memory, `stride` words from lane to lane: a stride of 8 makes them 8-way conflicted.
template <int stride>
__global__ void shared_loads(float* out) {
  __shared__ volatile float words[1024];
  words[threadIdx.x] = threadIdx.x;
  __syncthreads();
  float sum = 0;
  for (int round = 0; round < ROUNDS / 32; ++round)
#pragma unroll
    for (int i = 0; i < 32; ++i) sum += words[(threadIdx.x & 31) * stride + i];
  if (sum == 42) *out = sum;
}

// Eight independent chains of FMAs a thread.
__global__ void fma(float* out) {
  float x[8];
  for (int i = 0; i < 8; ++i) x[i] = threadIdx.x + i;
#pragma unroll 16
  for (int round = 0; round < ROUNDS; ++round)
    for (int i = 0; i < 8; ++i) x[i] = __fmaf_rn(x[i], 1.0001f, 0.5f);
  for (int i = 0; i < 8; ++i)
    if (x[i] == 42) *out = x[i];
}

// Two FMAs for each logic instruction: no pipe is full, but the issue slots are.
__global__ void issue(float* out) {
  float x[8];
  unsigned bits[4];
  for (int i = 0; i < 8; ++i) x[i] = threadIdx.x + i;
  for (int i = 0; i < 4; ++i) bits[i] = threadIdx.x + i;
#pragma unroll 8
  for (int round = 0; round < ROUNDS; ++round) {
    for (int i = 0; i < 8; ++i) x[i] = __fmaf_rn(x[i], 1.0001f, 0.5f);
    for (int i = 0; i < 4; ++i)
      asm volatile("lop3.b32 %0, %0, %1, %2, 0x96;" : "+r"(bits[i]) : "r"(round), "r"(threadIdx.x));
  }
  for (int i = 0; i < 8; ++i)
    if (x[i] == 42 && bits[i % 4] == 42) *out = x[i];
}

// Logic instructions alone, which half of the lanes can execute.
__global__ void alu(unsigned* out) {
  unsigned bits[8];
  for (int i = 0; i < 8; ++i) bits[i] = threadIdx.x + i;
#pragma unroll 8
  for (int round = 0; round < ROUNDS; ++round)
    for (int i = 0; i < 8; ++i)
      asm volatile("lop3.b32 %0, %0, %1, %2, 0x96;" : "+r"(bits[i]) : "r"(round), "r"(threadIdx.x));
  for (int i = 0; i < 8; ++i)
    if (bits[i] == 42) *out = bits[i];
}

// Double precision: a pipe that has no metric of its own in the catalogue.
__global__ void fp64(double* out) {
  double x[8];
  for (int i = 0; i < 8; ++i) x[i] = threadIdx.x + i;
#pragma unroll 8
  for (int round = 0; round < ROUNDS / 4; ++round)
    for (int i = 0; i < 8; ++i) x[i] = __fma_rn(x[i], 1.0001, 0.5);
  for (int i = 0; i < 8; ++i)
    if (x[i] == 42) *out = x[i];
}

// Square roots go through the MIO queue, to a pipe that has no metric of its own in the catalogue.
__global__ void mio(float* out) {
  float x[8];
  for (int i = 0; i < 8; ++i) x[i] = threadIdx.x + i;
#pragma unroll 4
  for (int round = 0; round < ROUNDS / 8; ++round)
    for (int i = 0; i < 8; ++i) asm volatile("rsqrt.approx.ftz.f32 %0, %0;" : "+f"(x[i]));
  for (int i = 0; i < 8; ++i)
    if (x[i] == 42) *out = x[i];
}

// One warp a scheduler follows pointers; so much shared memory that no other block fits.
__global__ void latency(const int* next, int* out) {
  int at = (blockIdx.x * blockDim.x + threadIdx.x) * 64;
  for (int round = 0; round < 256; ++round) at = __ldcg(next + at);
  if (at == -1) *out = at;
}

// The same, but 128 values that live through the loop leave registers for no more than three blocks.
__global__ void __launch_bounds__(128, 3) latency_registers(const int* next, float* out) {
  float x[128];
#pragma unroll
  for (int i = 0; i < 128; ++i) x[i] = next[threadIdx.x + 128 * i];
  int at = (blockIdx.x * blockDim.x + threadIdx.x) * 64;
  for (int round = 0; round < 256; ++round) at = __ldcg(next + at);
#pragma unroll
  for (int i = 0; i < 128; ++i)
    if (x[i] == at) *out = x[i];
}

// A quarter of a megabyte of machine code, which no instruction cache holds, run through twice.
__global__ void fetch(float* out) {
  float x[4];
  for (int i = 0; i < 4; ++i) x[i] = threadIdx.x + i;
#pragma unroll 1
  for (int round = 0; round < 2; ++round)
#pragma unroll
    for (int step = 0; step < 8192; ++step)
#pragma unroll
      for (int i = 0; i < 4; ++i) x[i] = __fmaf_rn(x[i], 1.0001f, 0.5f);
  for (int i = 0; i < 4; ++i)
    if (x[i] == 42) *out = x[i];
}

// One warp a scheduler, every FMA waits for the one before.
__global__ void dependent(float* out) {
  float x = threadIdx.x;
#pragma unroll 32
  for (int round = 0; round < 8 * ROUNDS; ++round) x = __fmaf_rn(x, 1.0001f, 0.5f);
  if (x == 42) *out = x;
}

// One warp of 32 works between two barriers, the others wait for it.
__global__ void barrier(float* out) {
  float x = threadIdx.x;
  for (int round = 0; round < 256; ++round) {
    if (threadIdx.x < 32)
      for (int i = 0; i < 64; ++i) x = __fmaf_rn(x, 1.0001f, 0.5f);
    __syncthreads();
  }
  if (x == 42) *out = x;
}

// Every lane takes a way of its own.
__global__ void divergent(float* out) {
  float x = threadIdx.x;
  for (int round = 0; round < 32; ++round)
    for (int lane = 0; lane < 32; ++lane)
      if ((threadIdx.x & 31) == lane)
        for (int i = 0; i < 16; ++i) x = __fmaf_rn(x, 1.0001f + lane, 0.5f);
  if (x == 42) *out = x;
}

// 64 values that live through the loop, and 32 registers for them.
__global__ void __launch_bounds__(1024, 2) spilling(float* out) {
  float x[64];
#pragma unroll
  for (int i = 0; i < 64; ++i) x[i] = threadIdx.x + i;
  for (int round = 0; round < 64; ++round)
#pragma unroll
    for (int i = 0; i < 64; ++i)
      asm volatile("fma.rn.f32 %0, %0, %1, %2;" : "+f"(x[i]) : "f"(1.0001f), "f"(0.5f));
#pragma unroll
  for (int i = 0; i < 64; ++i)
    if (x[i] == 42) *out = x[i];
}

// Two blocks fit an SM; one block more than that has the GPU to itself.
__global__ void tail(float* out) {
  float x[4];
  for (int i = 0; i < 4; ++i) x[i] = threadIdx.x + i;
#pragma unroll 16
  for (int round = 0; round < ROUNDS; ++round)
    for (int i = 0; i < 4; ++i) x[i] = __fmaf_rn(x[i], 1.0001f, 0.5f);
  for (int i = 0; i < 4; ++i)
    if (x[i] == 42) *out = x[i];
}

__global__ void brief(float* out) {
  if (threadIdx.x == 42) *out = 42;
}

int main() {
  constexpr size_t BYTES = size_t(256) << 20;
  char *in, *out;
  CHECK(cudaMalloc(&in, BYTES));
  CHECK(cudaMalloc(&out, BYTES));
  // What `latency` follows: from each place to one five megabytes further.
  constexpr int COUNT = 1 << 22;
  int* next = static_cast<int*>(std::malloc(COUNT * sizeof(int)));
  for (int i = 0; i < COUNT; ++i) next[i] = static_cast<int>((i + 1234577LL) % COUNT);
  CHECK(cudaMemcpy(in, next, COUNT * sizeof(int), cudaMemcpyHostToDevice));
  float* f = reinterpret_cast<float*>(in);
  float4* f4 = reinterpret_cast<float4*>(in);
  float* o = reinterpret_cast<float*>(out);
  constexpr int LARGE = 160 << 10;
  CHECK(cudaFuncSetAttribute(latency, cudaFuncAttributeMaxDynamicSharedMemorySize, LARGE));
  for (int turn = 0; turn < 2; ++turn) {
    hbm<<<SMS * 8, 256>>>(f4, reinterpret_cast<float4*>(out), BYTES / 16);
    l2<<<SMS * 8, 256>>>(f4, o);
    reads<float, 1, 32><<<SMS * 2, 1024>>>(f, o);
    reads<float4, 1, 32><<<SMS * 2, 1024>>>(f4, o);
    reads<float, 32, 1><<<SMS * 2, 1024>>>(f, o);
    shared_loads<1><<<SMS * 2, 1024>>>(o);
    shared_loads<8><<<SMS * 2, 1024>>>(o);
    fma<<<SMS * 2, 1024>>>(o);
    issue<<<SMS * 2, 1024>>>(o);
    alu<<<SMS * 2, 1024>>>(reinterpret_cast<unsigned*>(out));
    fp64<<<SMS * 2, 1024>>>(reinterpret_cast<double*>(out));
    mio<<<SMS * 2, 1024>>>(o);
    latency<<<SMS, 128, LARGE>>>(reinterpret_cast<int*>(in), reinterpret_cast<int*>(out));
    latency_registers<<<SMS * 3, 128>>>(reinterpret_cast<int*>(in), o);
    fetch<<<SMS, 128>>>(o);
    dependent<<<SMS, 128>>>(o);
    barrier<<<SMS, 1024>>>(o);
    divergent<<<SMS * 2, 1024>>>(o);
    spilling<<<SMS * 2, 1024>>>(o);
    tail<<<SMS * 2 + 1, 1024>>>(o);
    brief<<<1, 32>>>(o);
    CHECK(cudaDeviceSynchronize());
  }
  return 0;
}
