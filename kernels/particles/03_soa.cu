// Rung 3: a structure of arrays, one thread a particle, one float an access.
//
// Change from rung 2: each field has an array of its own, without padding.
// Expect: 4 sectors a request, all of each used; nothing moves that is not needed, so the time follows the bytes, 36 instead
// of 64 or 48 a particle. Six loads a thread are independent: 24 bytes a thread under way, 48 KB an SM.
//
//      x:  | x x x x ... |      a warp's x: 32 lanes side by side, 128 bytes, 4 sectors
//      y:  | y y y y ... |
//      ...                      six arrays, read; three of them written
//
// Traffic a particle: 24 bytes read, 12 written. Any n, any alignment.
#include "particles.cuh"

constexpr int THREADS = 256;

__global__ void __launch_bounds__(THREADS) particles_03_soa(Particles all, float dt) {
    const size_t i = blockIdx.x * size_t(THREADS) + threadIdx.x;
    if (i >= all.n) return;
    float position[3], velocity[3];
#pragma unroll
    for (int f = 0; f < 3; ++f) {
        position[f] = all.field[f][i];
        velocity[f] = all.field[f + 3][i];
    }
#pragma unroll
    for (int f = 0; f < 3; ++f) all.field[f][i] = position[f] + velocity[f] * dt;
}

bool launch(const Particles& all) {
    particles_03_soa<<<harness::blocks_for(all.n, THREADS), THREADS>>>(all, DT);
    return true;
}

int main(int argc, char** argv) { return harness::run<Motion>(argc, argv, {"03_soa", Layout::ARRAYS, launch}); }
