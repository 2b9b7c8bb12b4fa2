// Rung 3: four float4 under way per thread, and no cache is asked to remember what nobody reads again.
//
// Change from rung 2: a thread asks for four vectors before it stores the first, all with the streaming hint.
// Expect: what the same change is worth to the copy: longer runs of reads and of writes, and an L2 left to what is written.
//
//      block b, THREADS threads, float4:   | t0 t1 t2 ... | t0 t1 t2 ... | t0 t1 t2 ... | t0 t1 t2 ... |
//                                            load 0         load 1         load 2         load 3
//
// Any n, any alignment: a head of scalars up to the first address that suits both arrays, narrower vectors where only those
// suit both, then a tail.
#include "gelu.cuh"

constexpr int THREADS = 512, IN_FLIGHT = 4;

template <class Vector>
__global__ void __launch_bounds__(THREADS) gelu_03_in_flight(harness::Cut<Vector, float> cut) {
    const size_t first = blockIdx.x * size_t(THREADS * IN_FLIGHT) + threadIdx.x;
    Vector x[IN_FLIGHT];
#pragma unroll
    for (int k = 0; k < IN_FLIGHT; ++k)
        if (first + k * THREADS < cut.vectors) x[k] = __ldcs(cut.in() + first + k * THREADS);
#pragma unroll
    for (int k = 0; k < IN_FLIGHT; ++k)
        if (first + k * THREADS < cut.vectors) __stcs(cut.out() + first + k * THREADS, gelu(x[k]));
    if (first < cut.edges()) cut.map.out[cut.edge(first)] = gelu(cut.map.in[cut.edge(first)]);
}

template <class Vector>
bool launch_by(const harness::Map<float>& map) {
    harness::Cut<Vector, float> cut;
    if (!harness::cut(map, cut)) return false;
    gelu_03_in_flight<<<harness::blocks_for(cut.vectors, THREADS * IN_FLIGHT), THREADS>>>(cut);
    return true;
}

bool launch(const harness::Map<float>& map) { return launch_by<float4>(map) || launch_by<float2>(map) || launch_by<float>(map); }

int main(int argc, char** argv) { return harness::run<Task>(argc, argv, {"03_in_flight", launch}); }
