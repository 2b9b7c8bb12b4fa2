// Rung 7, past the articles: one thread, one float4.
//
// Change from rung 6: no loop, no staging: a thread finds its row, copies one vector of it, and is done. Blocks start in
// the order of the output.
// Expect: fewer bytes under way than in any rung since the first, and still enough. The fewer rows are open at once, the
// longer the runs in which the memory reads and writes.
//
//      row of 256 float4s, one block   | t0 | t1 | t2 | ... | t255 |     8 blocks an SM: at most 32 KB under way
//
// A block copies at most 256 vectors: wider rows take several. Any width and alignment: by 128, 64 or 32 bits, whatever
// rows of both arrays are aligned to.
#include "embedding.cuh"
#include "gather.cuh"

bool launch(const harness::Lookup<float>& lookup) {
    gather_rows(lookup);
    return true;
}

int main(int argc, char** argv) { return harness::run<Embedding>(argc, argv, {"07_one_vector", launch}); }
