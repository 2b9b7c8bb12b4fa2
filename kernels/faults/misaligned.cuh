// The program of this ladder: an access of 128 bits at an address that is no multiple of 16. It is right if the GPU reports
// cudaErrorMisalignedAddress, and wrong if the access goes through, whatever it reads.
#pragma once

#include <cstdio>
#include <cstdlib>

#include "../harness/device.cuh"
#include "../harness/options.cuh"

// `launch` gets 64 floats and the number of floats that its vector lies off its alignment.
inline int expect_fault(int argc, char** argv, const char* name, void (*launch)(float* memory, uint32_t off)) {
    const harness::Options options = harness::parse_options(argc, argv, {{"off", 1, 1, 3}});
    const cudaDeviceProp device = harness::find_device();
    float* memory = nullptr;
    CUDA_CHECK(cudaMalloc(&memory, 64 * sizeof(float)));
    launch(memory, uint32_t(options["off"]));
    const cudaError_t found = cudaDeviceSynchronize();
    const bool faulted = found == cudaErrorMisalignedAddress;
    std::printf("{\"mode\":\"check\",\"kernel\":\"%s\",\"gpu\":\"%s\",\"found\":\"%s\",\"ok\":%s}\n", name, device.name,
                cudaGetErrorString(found), faulted ? "true" : "false");
    return faulted ? harness::DONE : harness::MISMATCH;
}
