// Multiplies and adds numbers that stay in registers. The compiler spreads the operands over both banks of the register file;
// register_banks.py gives the multiply-adds of the loop other registers in the compiled code.
extern "C" __global__ void __launch_bounds__(128) multiply_add(float* out, const float* in, int rounds) {
  float r[96];
  const float* from = in + threadIdx.x;
#pragma unroll
  for (int i = 0; i < 96; ++i) r[i] = from[i * 128];
#pragma unroll 1
  for (int k = 0; k < rounds; ++k) {
#pragma unroll
    for (int i = 0; i < 256; ++i)
      asm volatile("fma.rn.f32 %0, %1, %2, %0;" : "+f"(r[i % 64]) : "f"(r[64 + i % 32]), "f"(r[64 + (i / 2 + 7) % 32]));  // <- multiply_one_bank
  }
  float* to = out + blockIdx.x * 96 * 128 + threadIdx.x;
#pragma unroll
  for (int i = 0; i < 96; ++i) to[i * 128] = r[i];
}
