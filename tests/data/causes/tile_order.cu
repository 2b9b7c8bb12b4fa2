// Kernels whose threads take several words of a tile in each step, stored apart or side by side.
#include "program.cuh"

// ---- curves as weighted sums of a basis: the weights of a block's eight curves are stored curve by curve, then step by step

constexpr int CURVES = 8, TERMS = 64, POINTS = 256;

template <bool BY_STEP>
__device__ __forceinline__ void blend(const float* __restrict__ weights, const float* __restrict__ basis, float* __restrict__ out) {
  __shared__ __align__(16) float tile[CURVES * (TERMS + 1)];  // a word more for each curve, so that they start in different banks
  for (int i = threadIdx.x; i < CURVES * TERMS; i += POINTS) {
    int curve = i / TERMS, term = i % TERMS;
    tile[BY_STEP ? term * CURVES + curve : curve * (TERMS + 1) + term] = weights[blockIdx.x * CURVES * TERMS + i];
  }
  __syncthreads();
  float sum[CURVES] = {};
#pragma unroll 1
  for (int term = 0; term < TERMS; ++term) {
    float value = basis[term * POINTS + threadIdx.x];
#pragma unroll
    for (int curve = 0; curve < CURVES; ++curve)
      sum[curve] += value * tile[BY_STEP ? term * CURVES + curve : curve * (TERMS + 1) + term];  // <- blend_by_curve
  }
#pragma unroll
  for (int curve = 0; curve < CURVES; ++curve) out[(blockIdx.x * CURVES + curve) * size_t(POINTS) + threadIdx.x] = sum[curve];
}

__global__ void blend_by_curve(const float* weights, const float* basis, float* out) { blend<false>(weights, basis, out); }
__global__ void blend_by_step(const float* weights, const float* basis, float* out) { blend<true>(weights, basis, out); }

// ---- the distances of all vectors of two sets, 4 x 4 of them a thread: the vectors lie in the tiles one by one, then component by component

constexpr int LENGTH = 64, SIDE = 64, WIDTH = SIDE + 4;  // so that a warp's stores of one vector fall into several banks

template <bool BY_COMPONENT>
__device__ __forceinline__ void measure(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ out, int count) {
  constexpr int STEP = BY_COMPONENT ? 1 : LENGTH + 1, NEXT = BY_COMPONENT ? WIDTH : 1;
  __shared__ __align__(16) float these[LENGTH * WIDTH], those[LENGTH * WIDTH];
  int x = threadIdx.x, y = threadIdx.y;
  const float *first = a + size_t(blockIdx.y) * SIDE * LENGTH, *second = b + size_t(blockIdx.x) * SIDE * LENGTH;
  for (int i = y * 16 + x; i < SIDE * LENGTH; i += 256) {
    these[i / LENGTH * STEP + i % LENGTH * NEXT] = first[i];
    those[i / LENGTH * STEP + i % LENGTH * NEXT] = second[i];
  }
  __syncthreads();
  float sum[4][4] = {};
#pragma unroll 1
  for (int k = 0; k < LENGTH; ++k) {
    float p[4], q[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      p[i] = these[(4 * y + i) * STEP + k * NEXT];  // <- distances_by_vector
      q[i] = those[(4 * x + i) * STEP + k * NEXT];  // <- distances_by_vector
    }
#pragma unroll
    for (int i = 0; i < 4; ++i)
#pragma unroll
      for (int j = 0; j < 4; ++j) sum[i][j] += (p[i] - q[j]) * (p[i] - q[j]);
  }
#pragma unroll
  for (int i = 0; i < 4; ++i)
    reinterpret_cast<float4*>(out + (size_t(blockIdx.y) * SIDE + 4 * y + i) * count + blockIdx.x * SIDE)[x] =
        make_float4(sum[i][0], sum[i][1], sum[i][2], sum[i][3]);
}

__global__ void distances_by_vector(const float* a, const float* b, float* out, int count) { measure<false>(a, b, out, count); }
__global__ void distances_by_component(const float* a, const float* b, float* out, int count) { measure<true>(a, b, out, count); }

// ---- looks like it: sums over windows of eight rows, which overlap from thread to thread, so that no order serves all

constexpr int ROWS = 8, COLUMNS = 32, WINDOW = 8, TURNS = 64;

__global__ void windows_of_rows(const float* __restrict__ in, float* __restrict__ out) {
  __shared__ float tile[ROWS + WINDOW - 1][COLUMNS + TURNS];
  for (int i = threadIdx.y * COLUMNS + threadIdx.x; i < (ROWS + WINDOW - 1) * (COLUMNS + TURNS); i += ROWS * COLUMNS)
    (&tile[0][0])[i] = in[blockIdx.x * 2048 + i];
  __syncthreads();
  float sum = 0;
#pragma unroll 1
  for (int turn = 0; turn < TURNS; ++turn) {
#pragma unroll
    for (int k = 0; k < WINDOW; ++k) sum = sum * 0.5f + tile[threadIdx.y + k][threadIdx.x + turn];
  }
  out[(blockIdx.x * ROWS + threadIdx.y) * COLUMNS + threadIdx.x] = sum;
}

int main(int argc, char** argv) {
  Program p(argc, argv);
  float *in = p.in<float>(), *more = p.more<float>(), *out = p.out<float>();
  auto floats = [=] {
    fill_uniform(in, 1 << 26, 1);
    fill_uniform(more, 1 << 20, 2);
  };

  constexpr int GROUPS = SMS * 256;
  p.set(1e-4);
  p.kernel<float>("blend_by_curve", size_t(GROUPS) * CURVES * POINTS, floats, [=] { blend_by_curve<<<GROUPS, POINTS>>>(in, more, out); });
  p.kernel<float>("blend_by_step", size_t(GROUPS) * CURVES * POINTS, floats, [=] { blend_by_step<<<GROUPS, POINTS>>>(in, more, out); });

  constexpr int COUNT = 16384;
  const dim3 tiles(COUNT / SIDE, COUNT / SIDE), square(16, 16);
  p.set(1e-4);
  p.kernel<float>("distances_by_vector", size_t(COUNT) * COUNT, floats, [=] { distances_by_vector<<<tiles, square>>>(in, more, out, COUNT); });
  p.kernel<float>("distances_by_component", size_t(COUNT) * COUNT, floats, [=] { distances_by_component<<<tiles, square>>>(in, more, out, COUNT); });

  p.set(1e-4);
  p.kernel<float>("windows_of_rows", SMS * 64 * ROWS * COLUMNS, floats, [=] { windows_of_rows<<<SMS * 64, dim3(COLUMNS, ROWS)>>>(in, out); });
  return p.end();
}
