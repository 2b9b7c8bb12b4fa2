// Rung 4: four particles a thread, a float4 an access.
//
// Change from rung 3: 128-bit loads and stores of each array.
// Expect: 16 sectors a request and a quarter of the requests, still all of each sector used; LSU pipe and issue slots down to a
// quarter. The bytes are the same and enough of them were under way before, so the time hardly changes.
//
//      x:  | x x x x | x x x x | ...      thread t: four particles from 4 t on, in each of six arrays
//      y:  | y y y y | y y y y | ...
//          |   t0    |   t1    | ...
//
// Traffic a particle: 24 bytes read, 12 written.
// Any n; any alignment that the six arrays share: single particles up to the first address that suits, and behind the last.
// Refuses arrays that are out of step with each other: no particle would suit all six.
#include "particles.cuh"

constexpr int THREADS = 256;

__global__ void __launch_bounds__(THREADS) particles_04_soa_float4(Particles all, unsigned head, float dt) {
    const size_t thread = blockIdx.x * size_t(THREADS) + threadIdx.x;
    const size_t vectors = (all.n - head) / 4;
    if (thread < vectors) {
        float4 position[3], velocity[3];
#pragma unroll
        for (int f = 0; f < 3; ++f) {
            position[f] = reinterpret_cast<const float4*>(all.field[f] + head)[thread];
            velocity[f] = reinterpret_cast<const float4*>(all.field[f + 3] + head)[thread];
        }
#pragma unroll
        for (int f = 0; f < 3; ++f)
            reinterpret_cast<float4*>(all.field[f] + head)[thread] =
                make_float4(position[f].x + velocity[f].x * dt, position[f].y + velocity[f].y * dt,
                            position[f].z + velocity[f].z * dt, position[f].w + velocity[f].w * dt);
    }
    // At most three particles before the vectors and three behind them, by the first threads of the grid.
    const size_t i = thread < head ? thread : thread + 4 * vectors;
    if (i >= all.n) return;
    for (int f = 0; f < 3; ++f) all.field[f][i] += all.field[f + 3][i] * dt;
}

bool launch(const Particles& all) {
    const size_t misplaced = reinterpret_cast<uintptr_t>(all.field[0]) % sizeof(float4);
    for (const float* field : all.field)
        if (reinterpret_cast<uintptr_t>(field) % sizeof(float4) != misplaced) return false;
    const size_t head = std::min((sizeof(float4) - misplaced) % sizeof(float4) / sizeof(float), all.n);
    particles_04_soa_float4<<<harness::blocks_for((all.n - head) / 4, THREADS), THREADS>>>(all, unsigned(head), DT);
    return true;
}

int main(int argc, char** argv) { return harness::run<Motion>(argc, argv, {"04_soa_float4", Layout::ARRAYS, launch}); }
