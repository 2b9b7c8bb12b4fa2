// Bulk copies: one thread asks the copy engine (TMA) for kilobytes, which arrive in shared memory without passing through
// registers, and a barrier there counts the bytes. Hopper and later; thin names for PTX, nothing more.
#pragma once

#include <cstdint>

namespace harness {

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
#define HARNESS_BULK_COPIES 1

__device__ __forceinline__ uint32_t shared_address(const void* pointer) { return uint32_t(__cvta_generic_to_shared(pointer)); }

// One copy to shared memory. Whoever waits must have met the thread that fetches at a barrier of the block in between.
struct Delivery {
    uint64_t barrier;

    // By one thread. Addresses and size are multiples of 16 bytes.
    __device__ __forceinline__ void fetch(void* to_shared, const void* from, uint32_t bytes) {
        const uint32_t at = expect(bytes);
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
                     "r"(shared_address(to_shared)), "l"(from), "r"(bytes), "r"(at) : "memory");
    }
    // The same with a policy for the L2.
    __device__ __forceinline__ void fetch(void* to_shared, const void* from, uint32_t bytes, uint64_t policy) {
        const uint32_t at = expect(bytes);
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1], %2, [%3], %4;" ::
                     "r"(shared_address(to_shared)), "l"(from), "r"(bytes), "r"(at), "l"(policy) : "memory");
    }
    __device__ __forceinline__ uint32_t expect(uint32_t bytes) {
        const uint32_t at = shared_address(&barrier);
        asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(at) : "memory");
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(at), "r"(bytes) : "memory");
        return at;
    }
    // By every thread that reads what came.
    __device__ __forceinline__ void wait() {
        asm volatile("{\n.reg .pred done;\nagain:\nmbarrier.try_wait.parity.shared::cta.b64 done, [%0], 0;\n"
                     "@!done bra again;\n}" ::"r"(shared_address(&barrier)) : "memory");
    }
};

// Asks the L2 to fetch a row and to keep its lines by the policy. By one thread. Address and size are multiples of 16 bytes.
__device__ __forceinline__ void prefetch_bulk(const void* from, uint32_t bytes, uint64_t policy) {
    asm volatile("cp.async.bulk.prefetch.L2.global.L2::cache_hint [%0], %1, %2;" ::"l"(from), "r"(bytes), "l"(policy) : "memory");
}

#endif

}  // namespace harness
