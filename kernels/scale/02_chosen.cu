// Rung 2: width 4, 2 or 1, chosen at launch.
//
// Change from rung 1: one kernel for each width, and the host takes the widest that divides n and suits both addresses.
// Expect: at a size and an alignment that suit it, the float4 kernel's pace without a tail's instructions. One element
// more, or a base off by one, and it is rung 1 again: nothing breaks, but a quarter of the speed hangs on one address.
//
//      n % 4 == 0 and both at 16 bytes     | 16 bytes | 16 bytes | ...
//      n % 2 == 0 and both at  8 bytes     | 8 bytes  | 8 bytes  | ...
//      anything else                       | 4 bytes  | 4 bytes  | ...
//
// Any n, any alignment.
#include "scale.cuh"

constexpr int THREADS = 256;

template <class Vector>
__global__ void __launch_bounds__(THREADS) scale_02_chosen(size_t vectors, const Vector* in, Vector* out, float a) {
    const size_t i = blockIdx.x * size_t(THREADS) + threadIdx.x;
    if (i < vectors) out[i] = scale(a, in[i]);
}

template <class Vector>
bool launch_by(const harness::Map<float>& map) {
    constexpr size_t WIDTH = sizeof(Vector) / sizeof(float);
    if (map.n % WIDTH || !harness::is_aligned(map.in, sizeof(Vector)) || !harness::is_aligned(map.out, sizeof(Vector))) return false;
    const size_t vectors = map.n / WIDTH;
    scale_02_chosen<<<harness::blocks_for(vectors, THREADS), THREADS>>>(
        vectors, reinterpret_cast<const Vector*>(map.in), reinterpret_cast<Vector*>(map.out), Scale::A);
    return true;
}

bool launch(const harness::Map<float>& map) { return launch_by<float4>(map) || launch_by<float2>(map) || launch_by<float>(map); }

int main(int argc, char** argv) { return harness::run<Task>(argc, argv, {"02_chosen", launch}); }
