// Rung 2: largest element and sum in one pass, the online softmax: the row is read twice.
//
// Change from rung 1: a thread keeps the largest element so far and the sum relative to it, and scales the sum when a larger
// element comes; warps and block merge such pairs.
// Expect: two loads an element instead of three and one barrier instead of two; three exponentials instead of two. Faster, if
// loads limit rung 1 and not arithmetic.
//
//      (largest, sum) + x  ->  (m = max(largest, x), sum * exp(largest - m) + exp(x - m))
//
// Any shape, any alignment.
#include "two_passes.cuh"

int main(int argc, char** argv) { return harness::run<Task>(argc, argv, {"02_online", launch_two_passes}); }
