// Variant 3: the squares are added in half precision. Its result is wrong, and `prof verify` rejects it.
//
// Change from variant 1: the sum of squares of a thread, and of the block, is kept in the type of the elements.
// Expect: no faster, as the memory decides, and an error far above the rounding of the result: a sum in FP16 keeps 11 bits, so
// that each addition loses what is smaller than a two-thousandth of the sum so far.
//
// Traffic as in variant 1. Any width and alignment.
#include "../rmsnorm/rmsnorm.cuh"

constexpr int THREADS = 256;

template <class Element>
__global__ void __launch_bounds__(THREADS) rmsnorm_variants_03_half_arithmetic(harness::Rows<Element> rows) {
    __shared__ Element sums[THREADS];
    const size_t row = blockIdx.x * size_t(rows.hidden);
    const Element* in = rows.in + row;
    Element* out = rows.out + row;
    Element squares = Element(0.0f);
    for (uint32_t i = threadIdx.x; i < rows.hidden; i += blockDim.x) squares = squares + in[i] * in[i];
    sums[threadIdx.x] = squares;
    __syncthreads();
    for (int half = THREADS / 2; half; half /= 2) {
        if (threadIdx.x < half) sums[threadIdx.x] = sums[threadIdx.x] + sums[threadIdx.x + half];
        __syncthreads();
    }
    const Element mean = sums[0] / Element(float(rows.hidden));
    const Element scale = hrsqrt(mean + Element(EPSILON));
    for (uint32_t i = threadIdx.x; i < rows.hidden; i += blockDim.x) out[i] = in[i] * scale * rows.gamma[i];
}

struct Launch {
    template <class Element>
    static bool of(const harness::Rows<Element>& rows) {
        rmsnorm_variants_03_half_arithmetic<<<harness::blocks_for(rows.rows, 1), THREADS>>>(rows);
        return true;
    }
};

int main(int argc, char** argv) { return run_rung<Launch>(argc, argv, "03_half_arithmetic"); }
