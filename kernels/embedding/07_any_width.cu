// Rung 7, past the articles: every width and alignment at the speed of rung 6.
//
// Change from rung 6: a block copies one piece of 4 KB and is done, where rung 6 walks a wide row piece by piece; a narrow row
// takes no more threads than it has vectors for; and each thread stores what it fetched itself, so that no barrier is needed.
// Expect: rung 6 at 1024 floats; more than rung 6 at 512, where half of its threads have nothing to do, and at 2048 and wider,
// where a block waits once a piece.
//
//      row of 256 float4s, 128 threads   | t0 t1 ... t127 | t0 t1 ... t127 |     16 blocks an SM: 64 KB under way
//
// Rows that are no whole float4s or not aligned to 16 bytes go by 64 or 32 bits.
#include "embedding.cuh"
#include "gather.cuh"

bool launch(const harness::Lookup<float>& lookup) {
    gather_rows(lookup);
    return true;
}

int main(int argc, char** argv) { return harness::run<Embedding>(argc, argv, {"07_any_width", launch}); }
