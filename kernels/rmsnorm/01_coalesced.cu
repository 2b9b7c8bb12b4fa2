// Rung 1: a block normalises a row, neighbouring threads take neighbouring elements.
//
//      block r, 256 threads
//      row r    | 0 1 2 ... 255 | 0 1 2 ... 255 | ...     a warp's access: 32 x 2 bytes, 2 sectors
//      squares  thread: over its columns;  warp: 5 shuffles;  block: 8 partial sums in shared memory, one barrier
//
// Traffic per row: read twice and written once. The second reading finds the row in the L1 or the L2, as a block's rows are
// small against both: 2 + 2 bytes an element from and to the memory, six of ten requests are not for it.
// Expect: two bytes an access leave few bytes under way; the long scoreboard is what warps wait for.
// Any width and alignment.
#include "rmsnorm.cuh"

constexpr int THREADS = 256;

template <class Element>
__global__ void __launch_bounds__(THREADS) rmsnorm_01_coalesced(harness::Rows<Element> rows) {
    const size_t row = blockIdx.x * size_t(rows.hidden);
    normalise_in_two_passes(rows.in + row, rows.gamma, rows.out + row, rows.hidden);
}

struct Launch {
    template <class Element>
    static bool of(const harness::Rows<Element>& rows) {
        rmsnorm_01_coalesced<<<harness::blocks_for(rows.rows, 1), THREADS>>>(rows);
        return true;
    }
};

int main(int argc, char** argv) { return run_rung<Launch>(argc, argv, "01_coalesced"); }
