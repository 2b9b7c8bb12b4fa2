// Rung 1: an array of structures, one thread a particle, one float an access.
//
// Change from nothing: what one writes down first.
// Expect: a warp's access to one field touches 24 sectors of 32 bytes for 4 useful bytes in each 24: six times the sectors of a
// coalesced access. Loads find five of six again in the L1; stores do not, the L1 writes through, and the L2 gets 72 sectors
// of stores for 12 sectors' worth of bytes. DRAM reads what is used, but each sector it writes back holds velocities too.
//
//      particle:      | x  y  z  vx vy vz | x  y  z  vx vy vz | ...     24 bytes each
//      a warp's x:      ^                   ^                           32 lanes, 24 bytes apart: 24 sectors
//
// Traffic a particle: 24 bytes read, 24 written, where 12 have changed: 48 for 36 useful. Any n, any alignment.
#include "particles.cuh"

constexpr int THREADS = 256;

struct Particle {
    float x, y, z, vx, vy, vz;
};

__global__ void __launch_bounds__(THREADS) particles_01_aos(Particle* particles, size_t n, float dt) {
    const size_t i = blockIdx.x * size_t(THREADS) + threadIdx.x;
    if (i >= n) return;
    Particle& particle = particles[i];
    particle.x += particle.vx * dt;
    particle.y += particle.vy * dt;
    particle.z += particle.vz * dt;
}

bool launch(const Particles& all) {
    Particle* first = reinterpret_cast<Particle*>(all.field[0]);
    particles_01_aos<<<harness::blocks_for(all.n, THREADS), THREADS>>>(first, all.n, DT);
    return true;
}

int main(int argc, char** argv) { return harness::run<Motion>(argc, argv, {"01_aos", Layout::PACKED, launch}); }
