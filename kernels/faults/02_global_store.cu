// Fault 2: a kernel stores a float4 to global memory at an address that is off by a few floats.
// Expect: cudaErrorMisalignedAddress. The access is never split into narrower ones.
#include "misaligned.cuh"

__global__ void faults_02_global_store(float* memory, uint32_t off) {
    *reinterpret_cast<float4*>(memory + off) = make_float4(1, 2, 3, 4);
}

void launch(float* memory, uint32_t off) { faults_02_global_store<<<1, 32>>>(memory, off); }

int main(int argc, char** argv) { return expect_fault(argc, argv, "02_global_store", launch); }
