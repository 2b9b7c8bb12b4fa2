// Kernels whose blocks load what blocks far away in the grid load too, so that device memory or L2 delivers it to each of them.
#include "program.cuh"

// ---- four streams are mixed into four others: a row of blocks for each result, then all four results in one thread

constexpr int STREAMS = 4, LENGTH = 1 << 25;
__constant__ float MIX[STREAMS][STREAMS] = {{1, 0.5f, 0.25f, 0.125f}, {0.125f, 1, 0.5f, 0.25f}, {0.25f, 0.125f, 1, 0.5f}, {0.5f, 0.25f, 0.125f, 1}};

__global__ void mix_one_stream(const float* __restrict__ in, float* __restrict__ out, int length) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, to = blockIdx.y;
  if (i >= length) return;
  float sum = 0;
#pragma unroll
  for (int from = 0; from < STREAMS; ++from) sum += MIX[to][from] * in[size_t(from) * length + i];  // <- mix_one_stream
  out[size_t(to) * length + i] = sum;
}

__global__ void mix_all_streams(const float* __restrict__ in, float* __restrict__ out, int length) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= length) return;
  float sums[STREAMS] = {};
#pragma unroll
  for (int from = 0; from < STREAMS; ++from) {
    float value = in[size_t(from) * length + i];
#pragma unroll
    for (int to = 0; to < STREAMS; ++to) sums[to] += MIX[to][from] * value;
  }
#pragma unroll
  for (int to = 0; to < STREAMS; ++to) out[size_t(to) * length + i] = sums[to];
}

// ---- the second derivative along z: a thread for each point, then for a column, of which it keeps nine points in registers

constexpr int REACH = 4, WIDTH = 512, HEIGHT = 512, DEPTH = 256, STEPS = 32;
__constant__ float CURVE[REACH + 1] = {-205 / 72.f, 8 / 5.f, -1 / 5.f, 8 / 315.f, -1 / 560.f};

__global__ void curve_points(const float* __restrict__ in, float* __restrict__ out, int plane, int depth) {
  int z = blockIdx.y + REACH;
  if (z >= depth - REACH) return;
  size_t i = size_t(z) * plane + blockIdx.x * blockDim.x + threadIdx.x;
  float sum = CURVE[0] * in[i];
#pragma unroll
  for (int r = 1; r <= REACH; ++r) sum += CURVE[r] * (in[i - size_t(r) * plane] + in[i + size_t(r) * plane]);  // <- curve_points
  out[i] = sum;
}

__global__ void curve_columns(const float* __restrict__ in, float* __restrict__ out, int plane, int depth) {
  int begin = blockIdx.y * STEPS + REACH;
  size_t i = size_t(begin) * plane + blockIdx.x * blockDim.x + threadIdx.x;
  float near[2 * REACH + 1];
#pragma unroll
  for (int r = 0; r < 2 * REACH; ++r) near[r + 1] = in[i + (size_t(r) * plane - size_t(REACH) * plane)];
  for (int z = begin; z < min(begin + STEPS, depth - REACH); ++z, i += plane) {
#pragma unroll
    for (int r = 0; r < 2 * REACH; ++r) near[r] = near[r + 1];
    near[2 * REACH] = in[i + size_t(REACH) * plane];
    float sum = CURVE[0] * near[REACH];
#pragma unroll
    for (int r = 1; r <= REACH; ++r) sum += CURVE[r] * (near[REACH - r] + near[REACH + r]);
    out[i] = sum;
  }
}

int main(int argc, char** argv) {
  Program p(argc, argv);
  float *in = p.in<float>(), *out = p.out<float>();
  const unsigned blocks = blocks_for(LENGTH, 256), of_plane = blocks_for(WIDTH * HEIGHT, 256), inner = DEPTH - 2 * REACH;
  auto streams = [=] { fill_uniform(in, size_t(LENGTH) * STREAMS, 1); };
  p.set(1e-5);
  p.kernel<float>("mix_one_stream", size_t(LENGTH) * STREAMS, streams, [=] { mix_one_stream<<<dim3(blocks, STREAMS), 256>>>(in, out, LENGTH); });
  p.kernel<float>("mix_all_streams", size_t(LENGTH) * STREAMS, streams, [=] { mix_all_streams<<<blocks, 256>>>(in, out, LENGTH); });
  auto volume = [=] { fill_uniform(in, size_t(WIDTH) * HEIGHT * DEPTH, 2); };
  p.set(1e-4);
  p.kernel<float>("curve_points", size_t(WIDTH) * HEIGHT * DEPTH, volume, [=] { curve_points<<<dim3(of_plane, inner), 256>>>(in, out, WIDTH * HEIGHT, DEPTH); });
  p.kernel<float>("curve_columns", size_t(WIDTH) * HEIGHT * DEPTH, volume, [=] { curve_columns<<<dim3(of_plane, blocks_for(inner, STEPS)), 256>>>(in, out, WIDTH * HEIGHT, DEPTH); });
  return p.end();
}
