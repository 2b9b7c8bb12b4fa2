// Variant 5: one thread copies an int4.
//
// Change from variant 2: the vector's type.
// Expect: nothing. An access of 128 bits does not know what it moves.
#include "../copy/vector.cuh"

__global__ void __launch_bounds__(THREADS) copy_variants_05_int4(harness::Map<float> map) { copy_by<int4>(map); }

bool launch(const harness::Map<float>& map) { return launch_by<int4>(copy_variants_05_int4, map); }

int main(int argc, char** argv) { return harness::run<Task>(argc, argv, {"05_int4", launch}); }
