// How a rung's program fails: one line on stderr and an exit code, which kernels/README.md documents.
#pragma once

#include <cuda_runtime.h>

#include <cstdarg>
#include <cstdio>
#include <cstdlib>

namespace harness {

enum Exit {
    DONE = 0,
    USAGE = 2,          // bad command line
    UNSUPPORTED = 3,    // a shape or an alignment that this rung cannot run
    MISMATCH = 4,       // wrong result
    CUDA_FAILED = 5,    // an error of CUDA or of one of its libraries, or no device
    OUT_OF_MEMORY = 6,
};

[[noreturn]] inline void fail(Exit code, const char* format, ...) {
    va_list values;
    va_start(values, format);
    std::fputs("error: ", stderr);
    std::vfprintf(stderr, format, values);
    std::fputc('\n', stderr);
    va_end(values);
    std::exit(code);
}

inline void check_cuda(cudaError_t status, const char* call) {
    if (status == cudaSuccess) return;
    if (status == cudaErrorMemoryAllocation) fail(OUT_OF_MEMORY, "out of device memory in %s", call);
    fail(CUDA_FAILED, "%s: %s", call, cudaGetErrorString(status));
}
#define CUDA_CHECK(call) ::harness::check_cuda((call), #call)

}  // namespace harness
