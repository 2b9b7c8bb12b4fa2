// A kernel that steps through time and keeps every state, and starts each step from the state in memory or in registers.
#include "program.cuh"

// ---- paths of a price whose variance changes too: a thread walks one path

constexpr int PATHS = SMS * 64, THREADS = 64, STEPS = 512;
constexpr float DT = 1.0f / STEPS, RETURNING = 1.5f, MEAN = 0.04f, SHAKING = 0.3f;

__device__ __forceinline__ float noise(unsigned path, unsigned step) {
  unsigned mixed = (path * 0x9E3779B9u) ^ (step * 0x85EBCA6Bu);
  mixed = (mixed ^ (mixed >> 15)) * 0x2C1B3C6Du;
  return float(mixed >> 8) * 0x1p-23f - 1;
}

template <bool MEMORY>
__device__ __forceinline__ void walk(float* prices, float* variances) {
  int path = blockIdx.x * THREADS + threadIdx.x;
  float price = prices[path] = 1, variance = variances[path] = MEAN;
  for (int step = 1; step < STEPS; ++step) {
    int here = step * PATHS + path;
    if (MEMORY) {
      price = prices[here - PATHS];        // <- states_in_memory
      variance = variances[here - PATHS];  // <- states_in_memory
    }
    float shock = noise(path, step);
    prices[here] = price = price + price * shock * variance;
    variances[here] = variance = variance + RETURNING * (MEAN - variance) * DT + SHAKING * variance * shock * DT;
  }
}

__global__ void states_in_memory(float* prices, float* variances) { walk<true>(prices, variances); }
__global__ void states_in_registers(float* prices, float* variances) { walk<false>(prices, variances); }

int main(int argc, char** argv) {
  Program p(argc, argv);
  float *variances = p.in<float>(), *prices = p.out<float>();
  auto nothing = [] {};
  p.set(1e-4);
  p.kernel<float>("states_in_memory", size_t(PATHS) * STEPS, nothing, [=] { states_in_memory<<<PATHS / THREADS, THREADS>>>(prices, variances); });
  p.kernel<float>("states_in_registers", size_t(PATHS) * STEPS, nothing, [=] { states_in_registers<<<PATHS / THREADS, THREADS>>>(prices, variances); });
  return p.end();
}
