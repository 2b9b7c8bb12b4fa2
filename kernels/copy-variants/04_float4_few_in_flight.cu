// Variant 4: float4 with as few bytes under way as one float a thread has.
//
// Change from variant 2: each block asks for so much shared memory that two fit an SM, 512 threads instead of 2048.
// Expect: a quarter of the bytes under way, 8 KB an SM as in variant 1, and about its speed, with a quarter of its instructions.
//
// Any n. Refuses arrays that are not aligned to 16 bytes.
#include "../copy/vector.cuh"

constexpr int SHARED_BYTES = 100 * 1024;  // of an SM's 227 KB

__global__ void __launch_bounds__(THREADS) copy_variants_04_float4_few_in_flight(harness::Map<float> map) { copy_by<float4>(map); }

bool launch(const harness::Map<float>& map) { return launch_by<float4>(copy_variants_04_float4_few_in_flight, map, SHARED_BYTES); }

int main(int argc, char** argv) { return harness::run<Task>(argc, argv, {"04_float4_few_in_flight", launch}); }
