// Rung 9: the loads ask the caches to keep the row.
//
// Change from rung 5: each load says to L1 and L2 that its lines are to leave last.
// Expect: from bytes, nothing, as no element is read again; from the ladders of layer norm and RMSNorm, 101 to 102 % of the copy.
//
// Any shape and alignment, as rung 5. No hints before sm_80.
#include "by_size.cuh"

template <class Vector, int THREADS, int COUNT>
__global__ void __launch_bounds__(threads_of_block(THREADS)) softmax_09_kept_in_l2(Rows rows) {
    normalise_rows<Vector, THREADS, COUNT, true>(rows);
}

struct Rung {
    template <class Vector, int THREADS, int COUNT>
    static auto of() { return softmax_09_kept_in_l2<Vector, THREADS, COUNT>; }
};

int main(int argc, char** argv) { return harness::run<Task>(argc, argv, {"09_kept_in_l2", launch_by_size<Rung>}); }
