// Kernels in which what a thread reads or computes decides where it adds, or whether it stores at all.
#include "program.cuh"

// ---- points are added to the sums of their groups: a block for each point, then for 32 points in the order of their groups

constexpr unsigned POINTS = 1 << 19, WIDE = 128, OF_GROUP = 512, GROUPS = POINTS / OF_GROUP;
constexpr unsigned STEP = 0x2545f;  // odd, so that the points of a group lie apart, and each is met once

__global__ void add_points(const float* __restrict__ in, const int* __restrict__ group, float* __restrict__ out) {
  size_t point = blockIdx.x;
  int g = group[point];
  atomicAdd(out + g * WIDE + threadIdx.x, in[point * WIDE + threadIdx.x]);  // <- add_points
}

template <int EACH>
__global__ void add_runs(const float* __restrict__ in, const int* __restrict__ group, const int* __restrict__ order, float* __restrict__ out) {
  size_t begin = size_t(blockIdx.x) * EACH;
  int g = group[order[begin]];
  float sum = 0;
#pragma unroll 8
  for (int k = 0; k < EACH; ++k) {
    size_t point = order[begin + k];
    int next = group[point];
    if (next != g) {
      atomicAdd(out + g * WIDE + threadIdx.x, sum);
      sum = 0;
      g = next;
    }
    sum += in[point * WIDE + threadIdx.x];
  }
  atomicAdd(out + g * WIDE + threadIdx.x, sum);
}

// ---- a search: each thread computes a hash, and few of them store theirs

constexpr unsigned TRIED = 1 << 22, BELOW = 1 << 20, WORDS = 1 << 20;

__global__ void search_hashes(unsigned* __restrict__ out, int rounds) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x, h = i;
#pragma unroll 4
  for (int k = 0; k < rounds; ++k) {
    h = (h ^ h >> 15) * 0x85ebca6bu + i;
    h = h << 7 | h >> 25;
  }
  if (h < BELOW) out[i] = h;
}

__global__ void search_words(const unsigned* __restrict__ words, unsigned* __restrict__ out, int rounds) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x, h = i;
#pragma unroll 4
  for (int k = 0; k < rounds; ++k) h = (h ^ h >> 15) * 0x85ebca6bu + words[h % WORDS];
  if (h < BELOW) out[i] = h;
}

int main(int argc, char** argv) {
  Program p(argc, argv);
  const float* points = p.in<float>();
  int *group = p.more<int>(), *order = p.more<int>(64 * MB);
  auto grouped = [=, &p] {
    fill_uniform(p.in<float>(), size_t(POINTS) * WIDE, 1);
    fill(order, POINTS, [=] __device__(size_t i) { return int(unsigned(i) * STEP % POINTS); });
    unsigned back = 1;  // by which the place of a point in the order is found: each turn of Newton's method doubles its right bits
    for (int k = 0; k < 5; ++k) back *= 2 - STEP * back;
    fill(group, POINTS, [=] __device__(size_t i) { return int(unsigned(i) * back % POINTS / OF_GROUP); });
  };
  float* sums = p.out<float>();
  p.set(1e-4);
  p.kernel<float>("add_points", GROUPS * WIDE, grouped, [=] { add_points<<<POINTS, WIDE>>>(points, group, sums); });
  p.kernel<float>("add_runs", GROUPS * WIDE, grouped, [=] { add_runs<32><<<POINTS / 32, WIDE>>>(points, group, order, sums); });

  unsigned* found = p.out<unsigned>();
  p.set();
  p.kernel<unsigned>("search_hashes", TRIED, [] {}, [=] { search_hashes<<<TRIED / 256, 256>>>(found, 512); });

  unsigned* words = p.in<unsigned>();
  auto table = [=] { fill(words, WORDS, [=] __device__(size_t i) { return hashed(unsigned(i), 3); }); };
  p.set();
  p.kernel<unsigned>("search_words", TRIED, table, [=] { search_words<<<TRIED / 256, 256>>>(words, found, 64); });
  return p.end();
}
