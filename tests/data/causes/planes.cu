// Kernels on planes that lie one after the other in memory, and share what is known of each point.
#include "program.cuh"

// ---- the nine densities of a lattice relax to what density and flow at their point say: a thread for each of them, then for each point

constexpr int WIDTH = 2048, HEIGHT = 2048, PLANES = 9;
__constant__ float SHARE[PLANES] = {4 / 9.f, 1 / 9.f, 1 / 9.f, 1 / 9.f, 1 / 9.f, 1 / 36.f, 1 / 36.f, 1 / 36.f, 1 / 36.f};
__constant__ float ALONG[PLANES] = {0, 1, 0, -1, 0, 1, -1, -1, 1}, ACROSS[PLANES] = {0, 0, 1, 0, -1, 1, 1, -1, -1};

__device__ __forceinline__ float relaxed(float value, float density, float u, float v, int plane) {
  float flow = ALONG[plane] * u + ACROSS[plane] * v;
  float rest = SHARE[plane] * density * (1 + 3 * flow + 4.5f * flow * flow - 1.5f * (u * u + v * v));
  return value + 0.6f * (rest - value);
}

__global__ void relax_values(const float* __restrict__ density, const float* __restrict__ u, const float* __restrict__ v, const float* __restrict__ in,
                             float* __restrict__ out, int points) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= points * PLANES) return;
  int plane = i / points, point = i % points;
  out[i] = relaxed(in[i], density[point], u[point], v[point], plane);  // <- relax_values
}

__global__ void relax_points(const float* __restrict__ density, const float* __restrict__ u, const float* __restrict__ v, const float* __restrict__ in,
                             float* __restrict__ out, int points) {
  int point = blockIdx.x * blockDim.x + threadIdx.x;
  if (point >= points) return;
  float d = density[point], along = u[point], across = v[point];
  for (int plane = 0; plane < PLANES; ++plane) {
    size_t i = size_t(plane) * points + point;
    out[i] = relaxed(in[i], d, along, across, plane);
  }
}

int main(int argc, char** argv) {
  Program p(argc, argv);
  const int points = WIDTH * HEIGHT;
  float *in = p.in<float>(), *of_points = p.more<float>(size_t(points) * 3 * sizeof(float)), *out = p.out<float>();
  float *density = of_points, *u = density + points, *v = u + points;
  auto lattice = [=] {
    fill_uniform(in, size_t(points) * PLANES, 1);
    fill_uniform(of_points, size_t(points) * 3, 2);
  };
  p.set(1e-5);
  p.kernel<float>("relax_values", size_t(points) * PLANES, lattice, [=] { relax_values<<<blocks_for(size_t(points) * PLANES, 256), 256>>>(density, u, v, in, out, points); });
  p.kernel<float>("relax_points", size_t(points) * PLANES, lattice, [=] { relax_points<<<blocks_for(points, 256), 256>>>(density, u, v, in, out, points); });
  return p.end();
}
