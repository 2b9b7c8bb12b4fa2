// Kernels of which all threads make the same values, and kernels that load rows which a list chooses. Each stands beside one that differs by
// that alone.
#include "program.cuh"

// ---- words encrypted by Speck: every thread makes the round keys from the key, then a kernel before it has made them

constexpr int ROUNDS = 27;

__device__ __forceinline__ void mix(unsigned& x, unsigned& y, unsigned key) {
  x = (__funnelshift_r(x, x, 8) + y) ^ key;
  y = __funnelshift_l(y, y, 3) ^ x;
}

__device__ __forceinline__ unsigned next_key(unsigned (&left)[3], unsigned key, int round) {
  unsigned made = left[round % 3];
  mix(made, key, round);
  left[round % 3] = made;
  return key;
}

__global__ void words_expanding(const uint2* __restrict__ in, const unsigned* __restrict__ key, uint2* __restrict__ out) {
  size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x;
  uint2 word = in[i];
  unsigned left[3] = {key[1], key[2], key[3]}, of_round = key[0];
#pragma unroll
  for (int k = 0; k < ROUNDS; ++k) {
    mix(word.x, word.y, of_round);
    of_round = next_key(left, of_round, k);  // <- words_expanding
  }
  out[i] = word;
}

__global__ void expand(const unsigned* __restrict__ key, unsigned* __restrict__ keys) {
  unsigned left[3] = {key[1], key[2], key[3]}, of_round = key[0];
#pragma unroll
  for (int k = 0; k < ROUNDS; ++k) {
    keys[k] = of_round;
    of_round = next_key(left, of_round, k);
  }
}

__global__ void words_expanded(const uint2* __restrict__ in, const unsigned* __restrict__ keys, uint2* __restrict__ out) {
  size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x;
  uint2 word = in[i];
#pragma unroll
  for (int k = 0; k < ROUNDS; ++k) mix(word.x, word.y, keys[k]);
  out[i] = word;
}

// ---- bonds priced by a rate that a series makes of the market: each thread makes it, then a kernel before it has made it

constexpr int TERMS = 48;

__device__ __forceinline__ float make_rate(const float* __restrict__ market) {
  float rate = 0;
#pragma unroll 1
  for (int k = 0; k < TERMS; ++k) rate += __fdividef(__expf(-market[k]), 1 + market[k]);  // <- bonds_making
  return rate / TERMS;
}

__device__ __forceinline__ float price_bond(float years, float rate) { return __expf(-rate * years) + rate; }

__global__ void bonds_making(const float* __restrict__ in, const float* __restrict__ market, float* __restrict__ out) {
  size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x;
  out[i] = price_bond(in[i], make_rate(market));
}

__global__ void make_once(const float* __restrict__ market, float* __restrict__ rate) { *rate = make_rate(market); }

__global__ void bonds_made(const float* __restrict__ in, const float* __restrict__ rate, float* __restrict__ out) {
  size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x;
  out[i] = price_bond(in[i], *rate);
}

// ---- products of rows of a table, one for each edge of a graph: 128 floats of a row in four loads of a lane, then in one

constexpr int ROWS = 8192, WIDTH = 128, EDGES = 1 << 20;

__device__ __forceinline__ void store_sum(float sum, float* __restrict__ out, int edge) {
#pragma unroll
  for (int step = 16; step; step /= 2) sum += __shfl_xor_sync(~0u, sum, step);
  if (threadIdx.x % 32 == 0) out[edge] = sum;
}

__global__ void edges_by_floats(const float* __restrict__ rows, const int2* __restrict__ ends, float* __restrict__ out) {
  int edge = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  int2 end = ends[edge];
  float sum = 0;
#pragma unroll 1
  for (int k = lane; k < WIDTH; k += 32) sum += rows[end.x * WIDTH + k] * rows[end.y * WIDTH + k];  // <- edges_by_floats
  store_sum(sum, out, edge);
}

__global__ void edges_by_fours(const float4* __restrict__ rows, const int2* __restrict__ ends, float* __restrict__ out) {
  int edge = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  int2 end = ends[edge];
  float4 a = rows[end.x * (WIDTH / 4) + lane], b = rows[end.y * (WIDTH / 4) + lane];
  store_sum(a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w, out, edge);
}

int main(int argc, char** argv) {
  Program p(argc, argv);
  constexpr int WORDS = 1 << 25;
  unsigned *key = p.more<unsigned>(), *keys = p.more<unsigned>(MB);
  const uint2* words = p.in<uint2>();
  uint2* encrypted = p.out<uint2>();
  unsigned* halves = p.in<unsigned>();
  auto text = [=] {
    fill(halves, 2 * WORDS, [] __device__(size_t i) { return hashed(unsigned(i), 1); });
    fill(key, 4, [] __device__(size_t i) { return hashed(unsigned(i), 2); });
    expand<<<1, 1>>>(key, keys);
  };
  p.set();
  p.kernel<int>("words_expanding", 2 * WORDS, text, [=] { words_expanding<<<WORDS / 256, 256>>>(words, key, encrypted); });
  p.kernel<int>("words_expanded", 2 * WORDS, text, [=] { words_expanded<<<WORDS / 256, 256>>>(words, keys, encrypted); });

  float *in = p.in<float>(), *market = p.more<float>(), *rate = p.more<float>(MB), *out = p.out<float>();
  auto floats = [=] {
    fill_uniform(in, WORDS, 3);
    fill_uniform(market, TERMS, 4);
    make_once<<<1, 1>>>(market, rate);
  };
  p.set(1e-5);
  p.kernel<float>("bonds_making", WORDS, floats, [=] { bonds_making<<<WORDS / 256, 256>>>(in, market, out); });
  p.kernel<float>("bonds_made", WORDS, floats, [=] { bonds_made<<<WORDS / 256, 256>>>(in, rate, out); });

  int2* ends = p.more<int2>();
  int* numbers = p.more<int>();
  auto graph = [=] {
    fill_uniform(in, ROWS * WIDTH, 5);
    fill(numbers, 2 * EDGES, [] __device__(size_t i) { return int(hashed(unsigned(i), 6) % ROWS); });
  };
  const float4* fours = p.in<float4>();
  p.set(1e-4);
  p.kernel<float>("edges_by_floats", EDGES, graph, [=] { edges_by_floats<<<EDGES / 8, 256>>>(in, ends, out); });
  p.kernel<float>("edges_by_fours", EDGES, graph, [=] { edges_by_fours<<<EDGES / 8, 256>>>(fours, ends, out); });
  return p.end();
}
