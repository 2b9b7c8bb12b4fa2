// Rung 3: the form with tanh.
//
// Change from rung 2: erf gives way to tanh of a cubic, written as x / (1 + exp(-2u)): one exponential and one reciprocal of the
// special function unit, and no cancellation where x is negative.
// Expect: half the instructions per byte, and the per cent or two that rung 2 lacks, if it was short of issue slots. The result
// is another function: it differs from the exact one by up to 4.8e-4, and is checked against its own definition.
//
//      block b, 256 threads        |    t0    |    t1    | ...     a warp's access: 32 x 16 bytes, 16 sectors
//      elements 1024 b .. + 1023   | 16 bytes | 16 bytes |
//
// Any n. Refuses arrays that are not aligned to 16 bytes.
#include "gelu.cuh"

constexpr int THREADS = 256;

__global__ void __launch_bounds__(THREADS) gelu_03_tanh(harness::Map<float> map) {
    const size_t i = blockIdx.x * size_t(THREADS) + threadIdx.x;
    const size_t vectors = map.n / 4;
    if (i < vectors) {
        const float4 x = reinterpret_cast<const float4*>(map.in)[i];
        reinterpret_cast<float4*>(map.out)[i] = make_float4(gelu_tanh(x.x), gelu_tanh(x.y), gelu_tanh(x.z), gelu_tanh(x.w));
    }
    const size_t rest = vectors * 4 + i;
    if (rest < map.n) map.out[rest] = gelu_tanh(map.in[rest]);
}

bool launch(const harness::Map<float>& map) {
    if (!harness::is_aligned(map.in, sizeof(float4)) || !harness::is_aligned(map.out, sizeof(float4))) return false;
    gelu_03_tanh<<<harness::blocks_for(map.n / 4, THREADS), THREADS>>>(map);
    return true;
}

int main(int argc, char** argv) { return harness::run<harness::Elementwise<GeluTanh>>(argc, argv, {"03_tanh", launch}); }
