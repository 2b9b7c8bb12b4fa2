// Rung 4: any alignment at full width.
//
// Change from rung 3: a head of halves up to the first address that suits both arrays, then vectors, then a tail. Where the two
// are off their alignment by different amounts no head suits both, and the widest access that does is taken.
// Expect: rung 3's pace wherever rung 3 runs, and the same off its alignment, where rung 3 refuses. The edges cost a comparison a thread.
//
//      | head: 0 to 7 halves | 16 bytes | 16 bytes | ...  | tail: 0 to 7 halves |
//
// Any n, any alignment.
#include "relu_fp16.cuh"

constexpr int THREADS = 256;

template <class Vector>
__global__ void __launch_bounds__(THREADS) relu_fp16_04_any_alignment(harness::Cut<Vector, __half> cut) {
    const size_t i = blockIdx.x * size_t(THREADS) + threadIdx.x;
    if (i < cut.vectors) cut.out()[i] = relu(cut.in()[i]);
    if (i < cut.edges()) cut.map.out[cut.edge(i)] = relu(cut.map.in[cut.edge(i)]);
}

template <class Vector>
bool launch_by(const harness::Map<__half>& map) {
    harness::Cut<Vector, __half> cut;
    if (!harness::cut(map, cut)) return false;
    relu_fp16_04_any_alignment<<<harness::blocks_for(cut.vectors, THREADS), THREADS>>>(cut);
    return true;
}

bool launch(const harness::Map<__half>& map) {
    return launch_by<uint4>(map) || launch_by<uint2>(map) || launch_by<unsigned>(map) || launch_by<__half>(map);
}

int main(int argc, char** argv) { return harness::run<Task>(argc, argv, {"04_any_alignment", launch}); }
