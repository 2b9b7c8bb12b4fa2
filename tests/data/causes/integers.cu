// Kernels whose results are integers: some fill the units for integers and have nothing to gain, others spell out what one instruction does.
#include "program.cuh"

// ---- nothing to gain: rounds of a digest, sorted keys, and numbers that are multiplied

__device__ __forceinline__ unsigned rotated(unsigned x, int by) { return __funnelshift_r(x, x, by); }

// The rounds of SHA-256 over sixteen words a thread: rotations, sums and logic, all on one pipe.
__global__ void digest(const unsigned* __restrict__ in, unsigned* __restrict__ out, int n, int blocks) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned state[8], w[16];
  for (int k = 0; k < 8; ++k) state[k] = 0x6a09e667u * (k + 1);
  for (int k = 0; k < 16; ++k) w[k] = in[k * n + i];
#pragma unroll 1
  for (int block = 0; block < blocks; ++block) {
    unsigned a = state[0], b = state[1], c = state[2], d = state[3], e = state[4], f = state[5], g = state[6], h = state[7];
#pragma unroll
    for (int k = 0; k < 64; ++k) {
      unsigned s1 = rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25), s0 = rotated(a, 2) ^ rotated(a, 13) ^ rotated(a, 22);
      unsigned t1 = h + s1 + ((e & f) ^ (~e & g)) + (0x428a2f98u ^ k * 0x71374491u) + w[k % 16];
      unsigned t2 = s0 + ((a & b) ^ (a & c) ^ (b & c));
      h = g, g = f, f = e, e = d + t1, d = c, c = b, b = a, a = t1 + t2;
      unsigned x = w[(k + 1) % 16], y = w[(k + 14) % 16];
      w[k % 16] += (rotated(x, 7) ^ rotated(x, 18) ^ x >> 3) + w[(k + 9) % 16] + (rotated(y, 17) ^ rotated(y, 19) ^ y >> 10);
    }
    state[0] += a, state[1] += b, state[2] += c, state[3] += d, state[4] += e, state[5] += f, state[6] += g, state[7] += h;
  }
  for (int k = 0; k < 8; ++k) out[k * n + i] = state[k];
}

// Sixteen keys a thread in a network of comparisons, and the keys mixed anew for each round.
__global__ void sort_keys(const int* __restrict__ in, int* __restrict__ out, int n, int rounds) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int key[16];
  for (int k = 0; k < 16; ++k) key[k] = in[k * n + i];
#pragma unroll 1
  for (int round = 0; round < rounds; ++round) {
#pragma unroll
    for (int k = 0; k < 16; ++k) key[k] ^= round << k;
#pragma unroll
    for (int step = 0; step < 16; ++step)
#pragma unroll
      for (int k = step % 2; k < 15; k += 2) {
        int low = min(key[k], key[k + 1]), high = max(key[k], key[k + 1]);
        key[k] = low, key[k + 1] = high;
      }
  }
  for (int k = 0; k < 16; ++k) out[k * n + i] = key[k];
}

// Eight generators of random numbers a thread: a multiplication and a sum of integers for each step.
__global__ void scramble(const unsigned* __restrict__ in, unsigned* __restrict__ out, int rounds) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned x[8];
  for (int j = 0; j < 8; ++j) x[j] = in[i] + j;
  unsigned by = in[i] | 1;
#pragma unroll 16
  for (int k = 0; k < rounds; ++k)
    for (int j = 0; j < 8; ++j) x[j] = x[j] * by + 1013904223u;
  unsigned sum = 0;
  for (int j = 0; j < 8; ++j) sum ^= x[j];
  out[i] = sum;
}

// Eight sums a thread of four products of bytes for each instruction.
__global__ void dot_bytes(const int* __restrict__ in, int* __restrict__ out, int rounds) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int x[8], by = in[i];
  for (int j = 0; j < 8; ++j) x[j] = by + j;
#pragma unroll 16
  for (int k = 0; k < rounds; ++k)
    for (int j = 0; j < 8; ++j) x[j] = __dp4a(x[j], by, x[j]);
  int sum = 0;
  for (int j = 0; j < 8; ++j) sum ^= x[j];
  out[i] = sum;
}

// ---- distances between fingerprints: bits counted by masks, by shifts, and by the instruction

__device__ __forceinline__ int count_by_masks(unsigned x) {
  x = x - (x >> 1 & 0x55555555u);  // <- bits_masked
  x = (x & 0x33333333u) + (x >> 2 & 0x33333333u);  // <- bits_masked
  x = x + (x >> 4) & 0x0f0f0f0fu;  // <- bits_masked
  return x * 0x01010101u >> 24;  // <- bits_masked
}

__device__ __forceinline__ int count_by_shifts(unsigned x) {
  int count = 0;
#pragma unroll
  for (int k = 0; k < 32; ++k) count += x >> k & 1;  // <- bits_shifted
  return count;
}

template <typename Count>
__device__ __forceinline__ void nearest(const uint4* __restrict__ in, const uint4* __restrict__ queries, int* __restrict__ out, int many, Count count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, best = 1 << 30;
  uint4 own = in[i];
#pragma unroll 4
  for (int k = 0; k < many; ++k) {
    uint4 q = queries[k];
    best = min(best, count(own.x ^ q.x) + count(own.y ^ q.y) + count(own.z ^ q.z) + count(own.w ^ q.w));
  }
  out[i] = best;
}

__global__ void bits_masked(const uint4* __restrict__ in, const uint4* __restrict__ queries, int* __restrict__ out, int many) {
  nearest(in, queries, out, many, [](unsigned x) { return count_by_masks(x); });
}

__global__ void bits_shifted(const uint4* __restrict__ in, const uint4* __restrict__ queries, int* __restrict__ out, int many) {
  nearest(in, queries, out, many, [](unsigned x) { return count_by_shifts(x); });
}

__global__ void bits_counted(const uint4* __restrict__ in, const uint4* __restrict__ queries, int* __restrict__ out, int many) {
  nearest(in, queries, out, many, [](unsigned x) { return __popc(x); });
}

// ---- a checksum of integers: a loop that counts and branches for each word, then for sixteen

__device__ __forceinline__ unsigned mixed(unsigned sum, unsigned x) { return (rotated(sum, 27) ^ x) + 0x9e3779b9u; }

__global__ void checksum_rolled(const unsigned* __restrict__ in, unsigned* __restrict__ out, int words) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned x = in[i], sum = 0;
#pragma unroll 1
  for (int k = 0; k < words; ++k) sum = mixed(sum, x + k);  // <- checksum_rolled
  out[i] = sum;
}

__global__ void checksum_unrolled(const unsigned* __restrict__ in, unsigned* __restrict__ out, int words) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned x = in[i], sum = 0;
#pragma unroll 16
  for (int k = 0; k < words; ++k) sum = mixed(sum, x + k);
  out[i] = sum;
}

// ---- decoys: integers beside memory that is full, and integers that only find data

__global__ void mix_words(const uint4* __restrict__ in, uint4* __restrict__ out, int n) {
  int i = blockIdx.x * 1024 + threadIdx.x;
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    if (i + k * 256 >= n) return;
    uint4 v = __ldcs(in + i + k * 256);
    for (int round = 0; round < 2; ++round) v.x = mixed(v.x, v.y), v.y = mixed(v.y, v.z), v.z = mixed(v.z, v.w), v.w = mixed(v.w, v.x);
    __stcs(out + i + k * 256, v);
  }
}

// The digits of a place in another order, by remainders of numbers known only when it runs.
__global__ void gather_digits(const float* __restrict__ in, float* __restrict__ out, int n, int base, int digits) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int rest = i, at = 0;
  for (int k = 0; k < digits; ++k) {
    at = at * base + rest % base;
    rest /= base;
  }
  out[i] = in[at];
}

int main(int argc, char** argv) {
  Program p(argc, argv);
  unsigned *in = p.in<unsigned>(), *out = p.out<unsigned>();
  int *numbers = p.in<int>(), *results = p.out<int>();
  auto words = [=] { fill(in, 1 << 26, [=] __device__(size_t i) { return hashed(unsigned(i), 1); }); };
  constexpr int THREADS = SMS * 8 * 256;
  p.set();
  p.kernel<unsigned>("digest", THREADS * 8, words, [=] { digest<<<SMS * 8, 256>>>(in, out, THREADS, 16); });
  p.set();
  p.kernel<int>("sort_keys", THREADS * 16, words, [=] { sort_keys<<<SMS * 8, 256>>>(numbers, results, THREADS, 64); });
  p.set();
  p.kernel<unsigned>("scramble", THREADS, words, [=] { scramble<<<SMS * 8, 256>>>(in, out, 2048); });
  p.set();
  p.kernel<int>("dot_bytes", THREADS, words, [=] { dot_bytes<<<SMS * 8, 256>>>(numbers, results, 2048); });

  uint4 *prints = p.in<uint4>(), *queries = p.more<uint4>(), *mixed_words = p.out<uint4>();
  auto both = [=] {
    words();
    fill(reinterpret_cast<unsigned*>(queries), 4 * 4096, [=] __device__(size_t i) { return hashed(unsigned(i), 2); });
  };
  for (bool large : {true, false}) {
    int blocks = large ? SMS * 64 : SMS * 8, many = large ? 256 : 1024;
    auto name = [=](const char* kernel) { return std::string(kernel) + (large ? "" : "-270K"); };
    p.set();
    p.kernel<int>(name("bits_masked").c_str(), blocks * 256, both, [=] { bits_masked<<<blocks, 256>>>(prints, queries, results, many); });
    p.kernel<int>(name("bits_shifted").c_str(), blocks * 256, both, [=] { bits_shifted<<<blocks, 256>>>(prints, queries, results, many); });
    p.kernel<int>(name("bits_counted").c_str(), blocks * 256, both, [=] { bits_counted<<<blocks, 256>>>(prints, queries, results, many); });
  }

  p.set();
  p.kernel<unsigned>("checksum_rolled", THREADS, words, [=] { checksum_rolled<<<SMS * 8, 256>>>(in, out, 4096); });
  p.kernel<unsigned>("checksum_unrolled", THREADS, words, [=] { checksum_unrolled<<<SMS * 8, 256>>>(in, out, 4096); });

  p.set();
  p.kernel<unsigned>("mix_words", 1 << 26, words, [=] { mix_words<<<(1 << 24) / 1024, 256>>>(prints, mixed_words, 1 << 24); });
  constexpr int PLACES = 11390625;  // 15 to the sixth
  float *values = p.in<float>(), *moved = p.out<float>();
  p.set();
  p.kernel<float>("gather_digits", PLACES, [=] { fill_uniform(values, PLACES, 3); }, [=] { gather_digits<<<blocks_for(PLACES, 256), 256>>>(values, moved, PLACES, 15, 6); });
  return p.end();
}
