// Rung 2: structures padded to two float4, so that a particle is two 128-bit loads and one 128-bit store.
//
// Change from rung 1: 8 bytes of padding a particle buy the widest accesses there are.
// Expect: a third of the memory instructions, and 32 sectors a request of 512 bytes where 16 would do, since a warp's
// positions lie 32 bytes apart. But more bytes move than before: if DRAM was the limit of rung 1, this one is slower.
//
//      particle:              | x  y  z  -  | vx vy vz -  | x  y  z  -  | vx vy vz -  | ...     32 bytes: one sector
//      a warp's positions:      ^ ^ ^ ^ ^ ^                 ^ ^ ^ ^ ^ ^                          half of each sector
//
// Traffic a particle: 32 bytes read, 32 written: 64 for 36 useful.
// Any n. Refuses particles that are not aligned to 16 bytes: such a structure is aligned or it is not one.
#include "particles.cuh"

constexpr int THREADS = 256;

struct Particle {
    float4 position, velocity;  // the fourth of each is padding
};

__global__ void __launch_bounds__(THREADS) particles_02_aos_float4(Particle* particles, size_t n, float dt) {
    const size_t i = blockIdx.x * size_t(THREADS) + threadIdx.x;
    if (i >= n) return;
    float4 position = particles[i].position;
    const float4 velocity = particles[i].velocity;
    position.x += velocity.x * dt;
    position.y += velocity.y * dt;
    position.z += velocity.z * dt;
    particles[i].position = position;
}

bool launch(const Particles& all) {
    if (!harness::is_aligned(all.field[0], alignof(Particle))) return false;
    Particle* first = reinterpret_cast<Particle*>(all.field[0]);
    particles_02_aos_float4<<<harness::blocks_for(all.n, THREADS), THREADS>>>(first, all.n, DT);
    return true;
}

int main(int argc, char** argv) { return harness::run<Motion>(argc, argv, {"02_aos_float4", Layout::PADDED, launch}); }
