// Kernels whose threads multiply by a matrix or by its inverse, as signed digits say: two copies of the product, or one.
#include "program.cuh"

constexpr unsigned WORDS = 1 << 20, PRIME = 0x7fffffff;
constexpr int DIGITS = 64;

__device__ unsigned product(unsigned a, unsigned b) {
  unsigned long long both = static_cast<unsigned long long>(a) * b;
  unsigned sum = (unsigned(both) & PRIME) + unsigned(both >> 31);
  return min(sum, sum - PRIME);
}

__device__ unsigned sum(unsigned a, unsigned b) { return min(a + b, a + b - PRIME); }

__device__ unsigned difference(unsigned a, unsigned b) { return min(a - b, a - b + PRIME); }

// The matrices have the determinant 1, so that the inverse of (x y; z w) is (w -y; -z x).
__device__ uint4 times(uint4 m, uint4 by) {
  return {sum(product(m.x, by.x), product(m.y, by.z)), sum(product(m.x, by.y), product(m.y, by.w)),
          sum(product(m.z, by.x), product(m.w, by.z)), sum(product(m.z, by.y), product(m.w, by.w))};
}

__device__ uint4 times_inverse(uint4 m, uint4 by) {
  return {difference(product(m.x, by.w), product(m.y, by.z)), difference(product(m.y, by.x), product(m.x, by.y)),
          difference(product(m.z, by.w), product(m.w, by.z)), difference(product(m.w, by.x), product(m.z, by.y))};
}

// A digit is one of five: 0, which most are, or the number of a matrix, negative for its inverse.
__device__ int digit(unsigned word, int k) {
  unsigned h = hashed(word, 17 * k) % 8;
  return h < 4 ? int(h < 2 ? h + 1 : 1 - int(h)) : 0;
}

__global__ void walk_by_sides(const uint4* __restrict__ matrices, uint4* __restrict__ out) {
  unsigned word = blockIdx.x * blockDim.x + threadIdx.x;
  uint4 m = {1, 0, 0, 1};
#pragma unroll 1
  for (int k = 0; k < DIGITS; ++k) {
    int d = digit(word, k);
    if (d > 0) {  // <- walk_by_sides
      m = times(m, matrices[d]);
    } else if (d < 0) {
      m = times_inverse(m, matrices[-d]);
    }
  }
  out[word] = m;
}

__global__ void walk_by_operands(const uint4* __restrict__ matrices, uint4* __restrict__ out) {
  unsigned word = blockIdx.x * blockDim.x + threadIdx.x;
  uint4 m = {1, 0, 0, 1};
#pragma unroll 1
  for (int k = 0; k < DIGITS; ++k) {
    int d = digit(word, k);
    if (d != 0) {
      uint4 by = matrices[abs(d)];
      m = times(m, d > 0 ? by : uint4{by.w, PRIME - by.y, PRIME - by.z, by.x});
    }
  }
  out[word] = m;
}

int main(int argc, char** argv) {
  Program p(argc, argv);
  uint4 *matrices = p.in<uint4>(), *words = p.out<uint4>();
  auto shears = [=] { fill(matrices, 3, [=] __device__(size_t i) { return i == 1 ? uint4{1, 0x2545f, 0, 1} : uint4{1, 0, 0x1b873, 1}; }); };
  p.set();
  p.kernel<unsigned>("walk_by_sides", 4 * size_t(WORDS), shears, [=] { walk_by_sides<<<WORDS / 256, 256>>>(matrices, words); });
  p.kernel<unsigned>("walk_by_operands", 4 * size_t(WORDS), shears, [=] { walk_by_operands<<<WORDS / 256, 256>>>(matrices, words); });
  return p.end();
}
