// Loads and stores of one double a thread, each alone in its sector of 32 bytes: side by side, further apart, and in no order.
#include <cstdint>
#include <cstdio>
#include <cuda_runtime.h>

constexpr uint64_t COUNT = 1 << 24;
constexpr int THREADS = 256;

// An odd factor makes a permutation of numbers below a power of two.
template <bool in_order> __device__ double* place(double* data, int doubles_apart) {
    uint64_t thread = blockIdx.x * uint64_t(THREADS) + threadIdx.x;
    return data + (in_order ? thread : thread * 2654435761u % COUNT) * doubles_apart;
}

template <bool in_order> __global__ void load(double* data, int doubles_apart, double* result) {
    double value = *place<in_order>(data, doubles_apart);
    if (value == -1.0)  // never, but the compiler does not know
        *result = value;
}

template <bool in_order> __global__ void store(double* data, int doubles_apart, double value) {
    *place<in_order>(data, doubles_apart) = value;
}

int main() {
    double *data, *result;
    cudaMalloc(&data, COUNT * 128);
    cudaMalloc(&result, sizeof *result);
    cudaMemset(data, 0, COUNT * 128);
    for (int bytes : {32, 64, 128}) {
        load<true><<<COUNT / THREADS, THREADS>>>(data, bytes / 8, result);
        load<false><<<COUNT / THREADS, THREADS>>>(data, bytes / 8, result);
        store<true><<<COUNT / THREADS, THREADS>>>(data, bytes / 8, 1.0);
        store<false><<<COUNT / THREADS, THREADS>>>(data, bytes / 8, 1.0);
    }
    return std::puts(cudaGetErrorString(cudaDeviceSynchronize())) < 0;
}
