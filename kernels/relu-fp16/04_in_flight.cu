// Rung 4: four 128-bit accesses under way per thread, and no cache is asked to remember what nobody reads again.
//
// Change from rung 3: a thread asks for four vectors before it stores the first, all with the streaming hint.
// Expect: what the same change is worth to the copy: longer runs of reads and of writes, and an L2 left to what is written.
//
//      block b, THREADS threads, uint4:    | t0 t1 t2 ... | t0 t1 t2 ... | t0 t1 t2 ... | t0 t1 t2 ... |
//                                            load 0         load 1         load 2         load 3
//
// Any n, any alignment: a head of single halves up to the first address that suits both arrays, narrower vectors where only those
// suit both, then a tail.
#include "relu_fp16.cuh"

constexpr int THREADS = 512, IN_FLIGHT = 4;

template <class Vector>
__global__ void __launch_bounds__(THREADS) relu_fp16_04_in_flight(harness::Cut<Vector, __half> cut) {
    const size_t first = blockIdx.x * size_t(THREADS * IN_FLIGHT) + threadIdx.x;
    Vector x[IN_FLIGHT];
#pragma unroll
    for (int k = 0; k < IN_FLIGHT; ++k)
        if (first + k * THREADS < cut.vectors) x[k] = __ldcs(cut.in() + first + k * THREADS);
#pragma unroll
    for (int k = 0; k < IN_FLIGHT; ++k)
        if (first + k * THREADS < cut.vectors) __stcs(cut.out() + first + k * THREADS, relu(x[k]));
    if (first < cut.edges()) cut.map.out[cut.edge(first)] = relu(cut.map.in[cut.edge(first)]);
}

template <class Vector>
bool launch_by(const harness::Map<__half>& map) {
    harness::Cut<Vector, __half> cut;
    if (!harness::cut(map, cut)) return false;
    relu_fp16_04_in_flight<<<harness::blocks_for(cut.vectors, THREADS * IN_FLIGHT), THREADS>>>(cut);
    return true;
}

bool launch(const harness::Map<__half>& map) {
    return launch_by<uint4>(map) || launch_by<uint2>(map) || launch_by<unsigned>(map) || launch_by<__half>(map);
}

int main(int argc, char** argv) { return harness::run<Task>(argc, argv, {"04_in_flight", launch}); }
