// Rung 8: the loads ask the caches to keep the row.
//
// Change from rung 3: each load of x says to L1 and L2 that what it brings is to leave last. And where the row fills the
// block's registers, mean and variance come from one reduction: halves of as many elements are merged by their means and
// the squares around these.
// Expect: from bytes, nothing, as no element is read again. But PyTorch's compiled kernel (rung 7), which is ahead of rung 3,
// marks its reads so: up to its 101 % of the copy. One barrier less a row.
//
//      block r, 512 threads, float4:   | t0 t1 ... t511 | t0 t1 ... t511 |    row r of 4096 floats
//      a thread's registers:             v[0]             v[1]
//      (mean, squares) of 8 floats a thread  ->  16, 32 ... 256: a warp, by shuffles  ->  512 ... 4096: every warp for itself
//
// Traffic: 4 bytes read and 4 written an element, once; gamma and beta come from the caches. No hints before sm_80.
// Any alignment: elements instead of vectors where those do not suit. Refuses rows too wide for the registers of 1024
// threads with eight vectors each: 32768 floats, or 8192 where vectors do not suit.
#include "layernorm.cuh"

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
__device__ __forceinline__ uint64_t evict_last() {
    uint64_t policy;
    asm("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
    return policy;
}
__device__ __forceinline__ float load_to_keep(const float* from) {
    float v;
    asm volatile("ld.global.L1::evict_last.L2::cache_hint.f32 %0, [%1], %2;" : "=f"(v) : "l"(from), "l"(evict_last()));
    return v;
}
__device__ __forceinline__ float4 load_to_keep(const float4* from) {
    float4 v;
    asm volatile("ld.global.L1::evict_last.L2::cache_hint.v4.f32 {%0, %1, %2, %3}, [%4], %5;"
                 : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w) : "l"(from), "l"(evict_last()));
    return v;
}
#else
template <class Vector>
__device__ Vector load_to_keep(const Vector* from) { return *from; }
#endif

// Of some elements: their mean, and the sum of the squares of their distances from it.
struct Moments {
    float mean, squares;

    // Chan's formula for two halves, of `count` elements each.
    __device__ void merge(Moments other, float count) {
        const float apart = other.mean - mean;
        mean += apart / 2;
        squares += other.squares + apart * apart * (count / 2);
    }
    // Every lane gets those of LANES neighbours, which had `count` elements each.
    template <int LANES>
    __device__ void merge_lanes(float count) {
#pragma unroll
        for (int distance = 1; distance < LANES; distance *= 2)
            merge({__shfl_xor_sync(~0u, mean, distance), __shfl_xor_sync(~0u, squares, distance)}, count * distance);
    }
};

// WHOLE: the row is THREADS * COUNT vectors, no fewer.
template <class Vector, int THREADS, int COUNT, bool WHOLE>
__global__ void __launch_bounds__(THREADS) layernorm_08_kept_in_l2(Rows rows) {
    constexpr int WIDTH = sizeof(Vector) / sizeof(float), OF_THREAD = COUNT * WIDTH, WARPS = THREADS / 32;
    __shared__ float of_warps[2][WARPS];
    __builtin_assume(threadIdx.x < THREADS);  // then of a whole row no access is conditional
    const uint32_t vectors = WHOLE ? THREADS * COUNT : rows.hidden / WIDTH;
    const Vector* in = reinterpret_cast<const Vector*>(rows.in) + blockIdx.x * size_t(vectors);
    const Vector* gamma = reinterpret_cast<const Vector*>(rows.gamma);
    const Vector* beta = reinterpret_cast<const Vector*>(rows.beta);
    Vector* out = reinterpret_cast<Vector*>(rows.out) + blockIdx.x * size_t(vectors);
    Vector v[COUNT];
    float sum = 0;
#pragma unroll
    for (int k = 0; k < COUNT; ++k)
        if (threadIdx.x + k * THREADS < vectors) v[k] = load_to_keep(in + threadIdx.x + k * THREADS);
#pragma unroll
    for (int k = 0; k < COUNT; ++k)
        if (threadIdx.x + k * THREADS < vectors) sum += sum_of(v[k]);
    Moments row = {WHOLE ? sum / OF_THREAD : harness::block_sum<THREADS>(sum, of_warps[0]) / float(rows.hidden), 0};
#pragma unroll
    for (int k = 0; k < COUNT; ++k)
        if (threadIdx.x + k * THREADS < vectors) row.squares += squares_of(v[k], row.mean);
    if constexpr (WHOLE) {
        row.merge_lanes<32>(OF_THREAD);
        if (threadIdx.x % 32 == 0) of_warps[0][threadIdx.x / 32] = row.mean, of_warps[1][threadIdx.x / 32] = row.squares;
        __syncthreads();
        row = {of_warps[0][threadIdx.x % WARPS], of_warps[1][threadIdx.x % WARPS]};
        row.merge_lanes<WARPS>(32 * OF_THREAD);
    } else {
        row.squares = harness::block_sum<THREADS>(row.squares, of_warps[1]);
    }
    const float scale = rsqrtf(row.squares / float(vectors * WIDTH) + EPSILON);
#pragma unroll
    for (int k = 0; k < COUNT; ++k) {
        const uint32_t i = threadIdx.x + k * THREADS;
        if (i < vectors) out[i] = normalized(v[k], row.mean, scale, __ldg(gamma + i), __ldg(beta + i));
    }
}

template <class Vector, int THREADS, int COUNT>
bool launch_at_most(const Rows& rows) {
    const size_t most_bytes = THREADS * COUNT * sizeof(Vector), row_bytes = rows.hidden * sizeof(float);
    if (row_bytes > most_bytes) return false;
    if (row_bytes == most_bytes) layernorm_08_kept_in_l2<Vector, THREADS, COUNT, true><<<unsigned(rows.rows), THREADS>>>(rows);
    else layernorm_08_kept_in_l2<Vector, THREADS, COUNT, false><<<unsigned(rows.rows), THREADS>>>(rows);
    return true;
}

template <class Vector>
bool launch_by(const Rows& rows) {
    return launch_at_most<Vector, 256, 1>(rows) || launch_at_most<Vector, 256, 2>(rows) ||
           launch_at_most<Vector, 512, 2>(rows) || launch_at_most<Vector, 512, 4>(rows) ||
           launch_at_most<Vector, 1024, 4>(rows) || launch_at_most<Vector, 1024, 8>(rows);
}

bool launch(const Rows& rows) { return suits_float4(rows) ? launch_by<float4>(rows) : launch_by<float>(rows); }

int main(int argc, char** argv) { return harness::run<Task>(argc, argv, {"08_kept_in_l2", launch}); }
