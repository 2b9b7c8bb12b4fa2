// Variant 2: element by element, and the compiler knows how far apart a thread's elements are.
//
// Change from variant 1: the stride of a thread's loop is the constant 256 and not blockDim.x, so that the compiler unrolls the
// loops and has several loads of a thread under way.
// Expect: as many instructions and far more bytes under way; what remains to half2 and shared memory is their own gain.
//
// Traffic per row: read twice and written once. Any width and alignment.
#include "../rmsnorm/rmsnorm.cuh"

constexpr int THREADS = 256;

template <class Element>
__global__ void __launch_bounds__(THREADS) rmsnorm_variants_02_known_stride(harness::Rows<Element> rows) {
    __shared__ float sums[32];
    const size_t row = blockIdx.x * size_t(rows.hidden);
    const Element* in = rows.in + row;
    Element* out = rows.out + row;
    float squares = 0;
    for (uint32_t i = threadIdx.x; i < rows.hidden; i += THREADS) squares += float(in[i]) * float(in[i]);
    const float scale = scale_of_row(squares, rows.hidden, sums);
    for (uint32_t i = threadIdx.x; i < rows.hidden; i += THREADS) out[i] = Element(float(in[i]) * scale * float(rows.gamma[i]));
}

struct Launch {
    template <class Element>
    static bool of(const harness::Rows<Element>& rows) {
        rmsnorm_variants_02_known_stride<<<harness::blocks_for(rows.rows, 1), THREADS>>>(rows);
        return true;
    }
};

int main(int argc, char** argv) { return run_rung<Launch>(argc, argv, "02_known_stride"); }
