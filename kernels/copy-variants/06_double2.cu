// Variant 6: one thread copies a double2.
//
// Change from variant 2: the vector's type.
// Expect: nothing. An access of 128 bits does not know what it moves.
#include "../copy/vector.cuh"

__global__ void __launch_bounds__(THREADS) copy_variants_06_double2(harness::Map<float> map) { copy_by<double2>(map); }

bool launch(const harness::Map<float>& map) { return launch_by<double2>(copy_variants_06_double2, map); }

int main(int argc, char** argv) { return harness::run<Task>(argc, argv, {"06_double2", launch}); }
