// Bulk copies: one thread asks the copy engine (TMA) for kilobytes, which arrive in shared memory without passing through
// registers, and a barrier there counts the bytes. Hopper and later; thin names for PTX, nothing more.
#pragma once

#include <cstdint>

#include "failure.cuh"

namespace harness {

inline bool device_has_bulk_copies() {
    int device = 0, major = 0;
    CUDA_CHECK(cudaGetDevice(&device));
    CUDA_CHECK(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device));
    return major >= 9;
}

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
#define HARNESS_BULK_COPIES 1

__device__ __forceinline__ uint32_t shared_address(const void* pointer) { return uint32_t(__cvta_generic_to_shared(pointer)); }

// Counts the bytes of one copy after the other. Set up by one thread, then announced to the block and to the copy engine.
struct Delivery {
    uint64_t barrier;

    __device__ __forceinline__ void set_up() {
        asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(shared_address(&barrier)) : "memory");
    }
    static __device__ __forceinline__ void announce() {
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        __syncthreads();
    }
    // By one thread. Addresses and size are multiples of 16 bytes.
    __device__ __forceinline__ void fetch(void* to_shared, const void* from, uint32_t bytes) {
        asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::
                     "r"(shared_address(&barrier)), "r"(bytes) : "memory");
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
                     "r"(shared_address(to_shared)), "l"(from), "r"(bytes), "r"(shared_address(&barrier)) : "memory");
    }
    // By every thread that reads what came: `parity` is 0 for the first delivery, 1 for the second, 0 for the third, ...
    __device__ __forceinline__ void wait(uint32_t parity) {
        asm volatile("{\n.reg .pred done;\nagain:\nmbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
                     "@!done bra again;\n}" ::"r"(shared_address(&barrier)), "r"(parity) : "memory");
    }
};

#endif

}  // namespace harness
