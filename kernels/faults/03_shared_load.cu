// Fault 3: a kernel loads a float4 from shared memory at an address that is off by a few floats.
// Expect: cudaErrorMisalignedAddress. The access is never split into narrower ones.
#include "misaligned.cuh"

__global__ void faults_03_shared_load(float* memory, uint32_t off) {
    __shared__ alignas(16) float shared[32];
    shared[threadIdx.x] = memory[threadIdx.x];
    __syncwarp();
    const float4 v = *reinterpret_cast<const float4*>(shared + off);
    memory[32 + threadIdx.x] = v.x + v.y + v.z + v.w;
}

void launch(float* memory, uint32_t off) { faults_03_shared_load<<<1, 32>>>(memory, off); }

int main(int argc, char** argv) { return expect_fault(argc, argv, "03_shared_load", launch); }
