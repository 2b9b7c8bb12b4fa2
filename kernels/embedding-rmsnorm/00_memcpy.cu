// Rung 0: the device's own copy of as many bytes as one pass moves, the figure that every other rung is a percentage of.
#include "embedding_rmsnorm.cuh"

int main(int argc, char** argv) { return harness::run_memcpy<EmbeddingRmsNorm>(argc, argv); }
