// GELU with a planted error, to show that the verification of the ladders that move bytes catches it: from launch number FROM on,
// a variable of the environment (counted from 1), one element is off.
#include <cstdlib>

#include "../../kernels/gelu/gelu.cuh"

__global__ void activate(harness::Map<float> map) {
    for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < map.n; i += size_t(gridDim.x) * blockDim.x)
        map.out[i] = gelu_logistic(map.in[i]);
}

// Off by a thousandth of itself, which is little in the norm of 2^28 elements. The first from a third of the array on that is above 1:
// negative ones become nearly 0.
__global__ void plant(harness::Map<float> map) {
    size_t i = map.n / 3;
    while (map.out[i] < 1 && i + 1 < map.n) ++i;
    map.out[i] *= 1.001f;
}

bool launch(const harness::Map<float>& map) {
    static const char* const from = std::getenv("FROM");
    static int launches = 0;
    activate<<<1024, 256>>>(map);
    if (++launches >= (from ? std::atoi(from) : 1)) plant<<<1, 1>>>(map);
    return true;
}

int main(int argc, char** argv) { return harness::run<Task>(argc, argv, {"planted_map", launch}); }
