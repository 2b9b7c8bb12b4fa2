// Rung 0: cuBLAS, the figure that every other rung is a percentage of.
//
// FP32 in, FP32 accumulation, default math: no TF32 and no tensor cores, the same arithmetic as rungs 1 to 9.
// In `time` mode the reference is cuBLAS too, so the reported percentage shows how far two timings of one
// kernel differ: read no difference smaller than that into the other rungs.
#include "harness.cuh"

void launch(const harness::Gemm<float>& g) {
    static harness::Reference<float> cublas;
    cublas.launch(g);
}

int main(int argc, char** argv) { return harness::run<harness::Multiplication<float>>(argc, argv, {"00_cublas", launch}); }
