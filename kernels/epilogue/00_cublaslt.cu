// Rung 0: cublasLt with bias and GELU in its epilogue, the figure that every other rung is a percentage of.
//
// BF16 in and out, FP32 accumulation. In `time` mode the reference is cublasLt too, so the reported percentage shows how far two
// timings of one kernel differ: read no difference smaller than that into the other rungs.
#include "../gemm/harness.cuh"

using bf16 = __nv_bfloat16;

void launch(const harness::Gemm<bf16, bf16>& g) {
    static harness::Reference<bf16, bf16> cublas;
    cublas.launch(g);
}

int main(int argc, char** argv) { return harness::run<harness::Multiplication<bf16, bf16>>(argc, argv, {"00_cublaslt", launch, true}); }
