// Rung 5: multiply-adds of the tensor cores, TF32 in and FP32 out.
//
// wgmma of 64 x 256 x 8, one after the other, from two warp groups in turns: A from registers, B from shared memory, both loaded
// once. Expect: half of rung 6; the tensor pipe at 95 % and more, hardly any issue slots used, no memory.
#include "tensor.cuh"

__global__ void __launch_bounds__(THREADS, 1) ceilings_05_tf32(Product product) {
#if HAS_WGMMA
    multiply_slabs(product, [](float (&sum)[128], const uint32_t (&a)[4], uint64_t b) { multiply_tf32(sum, a, b); });
#endif
}

void launch(const Product& product, unsigned grid) { ceilings_05_tf32<<<grid, THREADS>>>(product); }

int main(int argc, char** argv) { return harness::run<Tensor<Tf32>>(argc, argv, {"05_tf32", launch}); }
