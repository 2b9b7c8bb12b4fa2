// Rung 7: the loads ask the caches to keep what they bring.
//
// Change from rung 2: each load says to L1 and L2 that its lines are to leave last.
// Expect: from bytes, nothing, as no element is read again. But a probe of copies with every policy found one that is faster than
// the device's own, this one, and torch.compile marks the reads of its reductions so: 101 to 102 % of the copy.
//
// Any n. Refuses arrays that are not aligned to 16 bytes. No hints before sm_80.
#include "../harness/policy.cuh"
#include "relu.cuh"

constexpr int THREADS = 256;

__global__ void __launch_bounds__(THREADS) relu_07_kept_in_l2(harness::Map<float> map) {
    const size_t i = blockIdx.x * size_t(THREADS) + threadIdx.x;
    const size_t vectors = map.n / 4;
    if (i < vectors) reinterpret_cast<float4*>(map.out)[i] = relu(harness::load_to_keep(reinterpret_cast<const float4*>(map.in) + i));
    const size_t rest = vectors * 4 + i;  // the tail, by the first threads of the grid
    if (rest < map.n) map.out[rest] = relu(map.in[rest]);
}

bool launch(const harness::Map<float>& map) {
    if (!harness::is_aligned(map.in, sizeof(float4)) || !harness::is_aligned(map.out, sizeof(float4))) return false;
    relu_07_kept_in_l2<<<harness::blocks_for(map.n / 4, THREADS), THREADS>>>(map);
    return true;
}

int main(int argc, char** argv) { return harness::run<Task>(argc, argv, {"07_kept_in_l2", launch}); }
