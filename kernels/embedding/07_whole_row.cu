// Rung 7, past the articles: a warp copies a whole row, and no cache is asked to remember it.
//
// Change from rung 4: a row belongs to a warp, whose lanes ask for eight vectors each before they store the first, with the
// streaming hint on both sides. Four tokens a block, so a quarter of the blocks to start.
// Expect: what waits for an id is one warp and not a block; the L2 gives up first what nobody reads again.
//
//      row of 256 float4s, one warp    | l0 ... l31 | l0 ... l31 | ...  eight times: 4 KB under way a warp
//
// Any width and alignment: by 128, 64 or 32 bits, whatever rows of both arrays are aligned to.
#include "embedding.cuh"
#include "gather.cuh"

bool launch(const harness::Lookup<float>& lookup) {
    gather_rows(lookup);
    return true;
}

int main(int argc, char** argv) { return harness::run<Embedding>(argc, argv, {"07_whole_row", launch}); }
