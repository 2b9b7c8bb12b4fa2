// A right product with a planted error, to show that verification catches it. cuBLAS computes C; then, from launch number FROM on
// (counted from 1), something in C is replaced. Compile with -DELEMENT=... -DRESULT=... -DLAYER=..., whether bias and GELU follow;
// PLANT and FROM are variables of the environment:
//
//     none       nothing: the product is right
//     element    one element is that of the next column, which is far smaller
//     product    one element lacks one of its k products
//     row        a row holds the one below
//     tile       64 x 64 elements are zero
#include <cuda_bf16.h>

#include <cstdlib>
#include <string>

#include "../../kernels/gemm/harness.cuh"

using harness::e4m3;
using harness::tf32;
using bf16 = __nv_bfloat16;
using Gemm = harness::Gemm<ELEMENT, RESULT>;

// Makes the matrices such that TF32 holds them exactly: cuBLAS would round where the bounds expect 13 bits to be cut off.
__global__ void cut(ELEMENT* matrix, size_t count) {
    for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < count; i += size_t(gridDim.x) * blockDim.x)
        matrix[i] = ELEMENT(float(harness::Precision<ELEMENT, RESULT>::multiplied(float(matrix[i]))));
}

__global__ void plant(Gemm g, int what) {
    const int row = g.m / 2, thread = threadIdx.x;
    // The first from a third of the row on that is larger than the next by 4: most of a layer's negative sums become nearly 0.
    int col = g.n / 3;
    while (!(float(g.c[size_t(row) * g.n + col]) > float(g.c[size_t(row) * g.n + col + 1]) + 4) && col < g.n - 64) ++col;
    __syncthreads();
    RESULT* const element = g.c + size_t(row) * g.n + col;
    if (what == 'e' && thread == 0) *element = element[1];
    if (what == 'p' && thread == 0) {
        // The largest of the first ones: the smallest of all would be no error.
        float lost = 0;
        for (int i = 0; i < g.k && i < 32; ++i) {
            const float product = float(g.a[size_t(row) * g.k + i]) * float(g.b[g.place_in_b(i, col)]);
            if (fabsf(product) > fabsf(lost)) lost = product;
        }
        *element = RESULT(float(*element) - lost);
    }
    if (what == 'r')
        for (int x = thread; x < g.n; x += blockDim.x) g.c[size_t(row) * g.n + x] = g.c[size_t(row + 1) * g.n + x];
    if (what == 't')
        for (int i = thread; i < 64 * 64; i += blockDim.x) g.c[size_t(row + i / 64) * g.n + col + i % 64] = RESULT(0.0f);
}

void launch(const Gemm& g) {
    static harness::Reference<ELEMENT, RESULT> cublas;
    static const char* const plant_text = std::getenv("PLANT");
    static const char* const from = std::getenv("FROM");
    static const std::string text = plant_text ? plant_text : "none";
    static int launches = 0;
    if (launches == 0) {
        cut<<<1024, 256>>>(const_cast<ELEMENT*>(g.a), size_t(g.m) * g.k);
        cut<<<1024, 256>>>(const_cast<ELEMENT*>(g.b), size_t(g.k) * g.n);
    }
    cublas.launch(g);
    if (++launches < (from ? std::atoi(from) : 1)) return;
    plant<<<1, 256>>>(g, text[0]);
}

int main(int argc, char** argv) { return harness::run<harness::Multiplication<ELEMENT, RESULT>>(argc, argv, {"planted", launch, LAYER}); }
