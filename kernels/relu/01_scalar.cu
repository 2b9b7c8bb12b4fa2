// Rung 1: one thread, one element.
#include "relu.cuh"

__global__ void relu_01_scalar(harness::Map<float> map) {
    const size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x;
    if (i < map.n) map.out[i] = fmaxf(map.in[i], 0.0f);
}

bool launch(const harness::Map<float>& map) {
    relu_01_scalar<<<harness::blocks_for(map.n, 256), 256>>>(map);
    return true;
}

int main(int argc, char** argv) { return harness::run<harness::Elementwise<Relu>>(argc, argv, {"01_scalar", launch}); }
