// Rung 5: a warp takes a row of up to 1024, a block of as many threads as fit takes a wider one.
//
// Change from rung 4: as few threads a row as hold it in at most eight vectors each. Within a warp the pairs are merged by
// shuffles alone; there is no barrier, and eight rows share a block.
// Expect: at 4096, where a row has 512 threads as before, nothing. At 512, where rung 4 leaves three of four threads idle, the
// speed of a copy.
//
//      up to 1024:    block, 8 warps:   row 8b | row 8b + 1 | ... | row 8b + 7       no barrier
//      wider:         block r, 256 to 1024 threads: row r
//
// Any shape, any alignment: elements instead of vectors where those do not suit, and rung 2 for rows wider than registers hold.
#include "by_size.cuh"

template <class Vector, int THREADS, int COUNT>
__global__ void __launch_bounds__(threads_of_block(THREADS)) softmax_05_by_size(Rows rows) {
    normalise_rows<Vector, THREADS, COUNT, false>(rows);
}

struct Rung {
    template <class Vector, int THREADS, int COUNT>
    static auto of() { return softmax_05_by_size<Vector, THREADS, COUNT>; }
};

int main(int argc, char** argv) { return harness::run<Task>(argc, argv, {"05_by_size", launch_by_size<Rung>}); }
