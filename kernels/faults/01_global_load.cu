// Fault 1: a kernel loads a float4 from global memory at an address that is off by a few floats.
// Expect: cudaErrorMisalignedAddress. The access is never split into narrower ones.
#include "misaligned.cuh"

__global__ void faults_01_global_load(float* memory, uint32_t off) {
    const float4 v = *reinterpret_cast<const float4*>(memory + off);
    memory[32] = v.x + v.y + v.z + v.w;
}

void launch(float* memory, uint32_t off) { faults_01_global_load<<<1, 32>>>(memory, off); }

int main(int argc, char** argv) { return expect_fault(argc, argv, "01_global_load", launch); }
