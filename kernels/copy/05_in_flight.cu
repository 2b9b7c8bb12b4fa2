// Rung 5: four float4 under way per thread.
//
// Change from rung 3: a thread asks for four vectors before it stores the first, and there are a quarter of the blocks.
// Expect: nothing to gain, as rung 3 has more under way than the memory needs. In fact it is slower (NOTES.md): four times the
// bytes are open at a time, of reads and of writes, and the memory serves them in worse order.
//
//      block b, 256 threads, float4:   | t0 t1 t2 ... | t0 t1 t2 ... | t0 t1 t2 ... | t0 t1 t2 ... |
//                                        load 0         load 1         load 2         load 3
//
// Any n, any alignment: a head of scalars up to the first address that suits both arrays, narrower vectors where only those
// suit both, then a tail.
#include "copy.cuh"

constexpr int THREADS = 256, IN_FLIGHT = 4;

template <class Vector>
__global__ void __launch_bounds__(THREADS) copy_05_in_flight(harness::Cut<Vector, float> cut) {
    const size_t first = blockIdx.x * size_t(THREADS * IN_FLIGHT) + threadIdx.x;
    Vector v[IN_FLIGHT];
#pragma unroll
    for (int k = 0; k < IN_FLIGHT; ++k)
        if (first + k * THREADS < cut.vectors) v[k] = cut.in()[first + k * THREADS];
#pragma unroll
    for (int k = 0; k < IN_FLIGHT; ++k)
        if (first + k * THREADS < cut.vectors) cut.out()[first + k * THREADS] = v[k];
    if (first < cut.edges()) cut.map.out[cut.edge(first)] = cut.map.in[cut.edge(first)];
}

template <class Vector>
bool launch_by(const harness::Map<float>& map) {
    harness::Cut<Vector, float> cut;
    if (!harness::cut(map, cut)) return false;
    copy_05_in_flight<<<harness::blocks_for(cut.vectors, THREADS * IN_FLIGHT), THREADS>>>(cut);
    return true;
}

bool launch(const harness::Map<float>& map) { return launch_by<float4>(map) || launch_by<float2>(map) || launch_by<float>(map); }

int main(int argc, char** argv) { return harness::run<Task>(argc, argv, {"05_in_flight", launch}); }
