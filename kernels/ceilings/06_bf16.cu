// Rung 6: multiply-adds of the tensor cores, BF16 in and FP32 out.
//
// wgmma of 64 x 256 x 16, one after the other, from two warp groups in turns: A from registers, B from shared memory, both loaded
// once. Expect: the tensor pipe at 95 % and more, 989 TFLOP/s at 1.83 GHz; but random numbers cost power, and power clocks.
#include "tensor.cuh"

__global__ void __launch_bounds__(THREADS, 1) ceilings_06_bf16(Product product) {
#if HAS_WGMMA
    multiply_slabs(product, [](float (&sum)[128], const uint32_t (&a)[4], uint64_t b) { multiply_bf16(sum, a, b); });
#endif
}

void launch(const Product& product, unsigned grid) { ceilings_06_bf16<<<grid, THREADS>>>(product); }

int main(int argc, char** argv) { return harness::run<Tensor<Bf16>>(argc, argv, {"06_bf16", launch}); }
