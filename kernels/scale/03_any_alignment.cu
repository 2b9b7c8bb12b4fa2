// Rung 3: any alignment at full width.
//
// Change from rung 2: a head of floats up to the first address that suits both arrays, then vectors, then a tail. Where the two
// are off their alignment by different amounts no head suits both, and the widest access that does is taken.
// Expect: rung 2's pace wherever rung 2 runs at width 4, and the same for every n and off its alignment, where rung 2 is scalar. The edges cost a comparison a thread.
//
//      | head: 0 to 3 floats | 16 bytes | 16 bytes | ...  | tail: 0 to 3 floats |
//
// Any n, any alignment.
#include "scale.cuh"

constexpr int THREADS = 256;

template <class Vector>
__global__ void __launch_bounds__(THREADS) scale_03_any_alignment(harness::Cut<Vector, float> cut, float a) {
    const size_t i = blockIdx.x * size_t(THREADS) + threadIdx.x;
    if (i < cut.vectors) cut.out()[i] = scale(a, cut.in()[i]);
    if (i < cut.edges()) cut.map.out[cut.edge(i)] = scale(a, cut.map.in[cut.edge(i)]);
}

template <class Vector>
bool launch_by(const harness::Map<float>& map) {
    harness::Cut<Vector, float> cut;
    if (!harness::cut(map, cut)) return false;
    scale_03_any_alignment<<<harness::blocks_for(cut.vectors, THREADS), THREADS>>>(cut, Scale::A);
    return true;
}

bool launch(const harness::Map<float>& map) {
    return launch_by<float4>(map) || launch_by<float2>(map) || launch_by<float>(map);
}

int main(int argc, char** argv) { return harness::run<Task>(argc, argv, {"03_any_alignment", launch}); }
