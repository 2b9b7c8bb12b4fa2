// Kernels that turn numbers of 4 bits into halves: by one comparison after another, or from their bits.
#include <cuda_fp16.h>

#include "program.cuh"

// ---- floats of 4 bits: a sign, two bits of exponent and one of mantissa; a thread unpacks the eight of a word

constexpr size_t WORDS = 8 << 20;

__device__ __forceinline__ float chosen(unsigned number) {
  float value = 0;
  value = number == 1 ? 0.5f : value;  // <- unpack_choices
  value = number == 2 ? 1 : value;  // <- unpack_choices
  value = number == 3 ? 1.5f : value;  // <- unpack_choices
  value = number == 4 ? 2 : value;  // <- unpack_choices
  value = number == 5 ? 3 : value;  // <- unpack_choices
  value = number == 6 ? 4 : value;  // <- unpack_choices
  value = number == 7 ? 6 : value;  // <- unpack_choices
  value = number == 8 ? -0.0f : value;  // <- unpack_choices
  value = number == 9 ? -0.5f : value;  // <- unpack_choices
  value = number == 10 ? -1 : value;  // <- unpack_choices
  value = number == 11 ? -1.5f : value;  // <- unpack_choices
  value = number == 12 ? -2 : value;  // <- unpack_choices
  value = number == 13 ? -3 : value;  // <- unpack_choices
  value = number == 14 ? -4 : value;  // <- unpack_choices
  value = number == 15 ? -6 : value;  // <- unpack_choices
  return value;
}

// The numbers 0 and 1 have no leading bit of mantissa.
__device__ __forceinline__ float from_bits(unsigned number) {
  unsigned magnitude = number & 7;
  unsigned bits = magnitude < 2 ? magnitude * 0x3f000000u : (magnitude << 22) + 0x3f000000u;
  return __uint_as_float(bits | (number & 8) << 28);
}

template <typename Value>
__device__ __forceinline__ void unpack(const unsigned* __restrict__ in, uint4* __restrict__ out, Value value) {
  size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x;
  unsigned word = in[i];
  __half2 halves[4];
#pragma unroll
  for (int k = 0; k < 4; ++k) halves[k] = __floats2half2_rn(value(word >> 8 * k & 15), value(word >> 8 * k + 4 & 15));
  out[i] = *reinterpret_cast<const uint4*>(halves);
}

__global__ void unpack_choices(const unsigned* __restrict__ in, uint4* __restrict__ out) { unpack(in, out, chosen); }
__global__ void unpack_bits(const unsigned* __restrict__ in, uint4* __restrict__ out) { unpack(in, out, from_bits); }

int main(int argc, char** argv) {
  Program p(argc, argv);
  unsigned* words = p.in<unsigned>();
  uint4* halves = p.out<uint4>();
  auto random = [=] { fill(words, WORDS, [] __device__(size_t i) { return hashed(unsigned(i), 5); }); };
  p.set();
  p.kernel<unsigned>("unpack_choices", WORDS * 4, random, [=] { unpack_choices<<<WORDS / 256, 256>>>(words, halves); });
  p.kernel<unsigned>("unpack_bits", WORDS * 4, random, [=] { unpack_bits<<<WORDS / 256, 256>>>(words, halves); });
  return p.end();
}
