// A kernel whose work is a hash: its additions, exclusive ors and rotations end as an index, and are no work on addresses.
#include "program.cuh"

// ---- how many of a thread's keys fall into places that are taken, by SipHash-2-4 (Aumasson and Bernstein, 2012)

using Word = unsigned long long;
constexpr int EACH = 32, KEYS = 1 << 24;
constexpr unsigned PLACES = 1u << 24;

__device__ __forceinline__ Word rotated(Word x, int by) { return x << by | x >> (64 - by); }

__device__ __forceinline__ void mix(Word& a, Word& b, Word& c, Word& d) {
  a += b, c += d, b = rotated(b, 13), d = rotated(d, 16), b ^= a, d ^= c, a = rotated(a, 32);
  c += b, a += d, b = rotated(b, 17), d = rotated(d, 21), b ^= c, d ^= a, c = rotated(c, 32);
}

__device__ Word keyed_hash(Word key, Word first, Word second) {
  Word a = first ^ 0x736f6d6570736575ull, b = second ^ 0x646f72616e646f6dull;
  Word c = first ^ 0x6c7967656e657261ull, d = second ^ 0x7465646279746573ull;
  for (Word block : {key, Word(8) << 56}) {
    d ^= block;
    mix(a, b, c, d), mix(a, b, c, d);
    a ^= block;
  }
  c ^= 0xff;
  for (int i = 0; i < 4; ++i) mix(a, b, c, d);
  return a ^ b ^ c ^ d;
}

__global__ void keys_taken(const unsigned* __restrict__ taken, unsigned* __restrict__ counts, Word first, Word second) {
  unsigned thread = blockIdx.x * blockDim.x + threadIdx.x, count = 0;
  for (int i = 0; i < EACH; ++i) {
    unsigned place = keyed_hash(Word(thread) * EACH + i, first, second) % PLACES;
    count += taken[place / 32] >> place % 32 & 1;
  }
  counts[thread] = count;
}

int main(int argc, char** argv) {
  Program p(argc, argv);
  unsigned *taken = p.in<unsigned>(), *counts = p.out<unsigned>();
  auto bits = [=] { fill(taken, PLACES / 32, [=] __device__(size_t i) { return hashed(static_cast<unsigned>(i), 1); }); };
  p.set();
  p.kernel<unsigned>("keys_taken", KEYS / EACH, bits, [=] { keys_taken<<<KEYS / EACH / 256, 256>>>(taken, counts, 0x0706050403020100ull, 0x0f0e0d0c0b0a0908ull); });
  return p.end();
}
