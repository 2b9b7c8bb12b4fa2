// Sums and maxima over the threads of a warp and of a block, the same in every run: the order is fixed.
#pragma once

namespace harness {

// Every lane gets the sum; all 32 must take part.
template <class T>
__device__ T warp_sum(T value) {
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2) value += __shfl_xor_sync(0xFFFFFFFFu, value, distance);
    return value;
}

// Every thread gets the sum; all THREADS of the block must take part. `of_warps` is shared memory that no thread may
// still read or write for another purpose: two sums one after the other take two arrays, or a barrier in between.
template <int THREADS, class T>
__device__ T block_sum(T value, T (&of_warps)[THREADS / 32]) {
    static_assert(THREADS % 32 == 0 && THREADS <= 1024, "whole warps, and no more of them than one warp has lanes");
    const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    value = warp_sum(value);
    if (lane == 0) of_warps[warp] = value;
    __syncthreads();
    // Each warp adds the partial sums for itself: no second barrier to hand the result around.
    return warp_sum(lane < THREADS / 32 ? of_warps[lane] : T(0));
}

// The same for the largest value.
template <class T>
__device__ T warp_max(T value) {
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2) value = max(value, __shfl_xor_sync(0xFFFFFFFFu, value, distance));
    return value;
}

template <int THREADS, class T>
__device__ T block_max(T value, T (&of_warps)[THREADS / 32]) {
    static_assert(THREADS % 32 == 0 && THREADS <= 1024, "whole warps, and no more of them than one warp has lanes");
    const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    value = warp_max(value);
    if (lane == 0) of_warps[warp] = value;
    __syncthreads();
    return warp_max(of_warps[lane < THREADS / 32 ? lane : 0]);
}

}  // namespace harness
