// Rung 4: the form with tanh.
//
// Change from rung 3: erf gives way to tanh of a cubic, written as x / (1 + exp(-2u)): one exponential and one reciprocal of the
// special function unit, and no cancellation where x is negative.
// Expect: about half the instructions per byte and the same time, because the time was the memory's. The result is another
// function: it differs from the exact one by up to 5e-4, and is checked against its own definition.
//
//      block b, THREADS threads, float4:   | t0 t1 t2 ... | t0 t1 t2 ... | t0 t1 t2 ... | t0 t1 t2 ... |
//                                            load 0         load 1         load 2         load 3
//
// Any n, any alignment: a head of scalars up to the first address that suits both arrays, narrower vectors where only those
// suit both, then a tail.
#include "gelu.cuh"

constexpr int THREADS = 512, IN_FLIGHT = 4;

template <class Vector>
__global__ void __launch_bounds__(THREADS) gelu_04_tanh(harness::Cut<Vector, float> cut) {
    const size_t first = blockIdx.x * size_t(THREADS * IN_FLIGHT) + threadIdx.x;
    Vector x[IN_FLIGHT];
#pragma unroll
    for (int k = 0; k < IN_FLIGHT; ++k)
        if (first + k * THREADS < cut.vectors) x[k] = __ldcs(cut.in() + first + k * THREADS);
#pragma unroll
    for (int k = 0; k < IN_FLIGHT; ++k)
        if (first + k * THREADS < cut.vectors) __stcs(cut.out() + first + k * THREADS, gelu_tanh(x[k]));
    if (first < cut.edges()) cut.map.out[cut.edge(first)] = gelu_tanh(cut.map.in[cut.edge(first)]);
}

template <class Vector>
bool launch_by(const harness::Map<float>& map) {
    harness::Cut<Vector, float> cut;
    if (!harness::cut(map, cut)) return false;
    gelu_04_tanh<<<harness::blocks_for(cut.vectors, THREADS * IN_FLIGHT), THREADS>>>(cut);
    return true;
}

bool launch(const harness::Map<float>& map) { return launch_by<float4>(map) || launch_by<float2>(map) || launch_by<float>(map); }

int main(int argc, char** argv) { return harness::run<TanhTask>(argc, argv, {"04_tanh", launch}); }
