// Rung 1: look up, then normalise: the best kernel of ../embedding, then the best of ../rmsnorm.
//
//      ids  -->  | table |  --gather-->  | rows in between |  --normalise-->  | out |
//                    read     written                       read                written
//
// Traffic per token: twice what one pass needs, as the rows in between are written to the memory and read from it again:
// 1 GB of them is twenty times the L2.
// What is timed is both kernels; what is profiled, by this rung's regex, is the second, the RMSNorm.
// Any width and alignment.
#include "../embedding/gather.cuh"
#include "../rmsnorm/normalise.cuh"
#include "embedding_rmsnorm.cuh"

bool launch(const Fused& fused) {
    harness::Lookup<__half> lookup = fused.lookup;
    lookup.out = fused.between;
    gather_rows(lookup);
    normalise_rows<__half>({lookup.tokens, lookup.hidden, fused.between, fused.gamma, nullptr, fused.lookup.out});
    return true;
}

int main(int argc, char** argv) { return harness::run<EmbeddingRmsNorm>(argc, argv, {"01_unfused", launch}); }
