// Rung 7: the bulk copy asks the L2 to keep the row.
//
// Change from rung 3: the copy carries a policy, by which what it brings leaves the L2 last.
// Expect: from bytes, nothing, as no element is read again. But the compiled kernel of rung 6, which is ahead of rung 3, marks its
// reads so, and in the ladder of layer norm that was worth three points: 101 % of the copy.
//
//      row of 4096 --UBLKCP--> | shared memory, 8 KB |        256 threads: | t0 ... t255 | t0 ... t255 |   16 bytes each
//
// Widths and alignments as in rung 3.
#include "normalise.cuh"
#include "rmsnorm.cuh"

template <int VECTORS, class Element>
__global__ void __launch_bounds__(VECTORS == 2 ? 768 : 1024) rmsnorm_07_kept_in_l2(harness::Rows<Element> rows) {
    const size_t row = blockIdx.x * size_t(rows.hidden);
    normalise_at_once<VECTORS, true>(rows.in + row, rows.gamma, rows.out + row, rows.hidden);
}

struct Launch {
    template <class Element>
    static bool of(const harness::Rows<Element>& rows) {
        if (!normalise_at_once_by(rmsnorm_07_kept_in_l2<2, Element>, rmsnorm_07_kept_in_l2<4, Element>, rows)) normalise_rows(rows);
        return true;
    }
};

int main(int argc, char** argv) { return run_rung<Launch>(argc, argv, "07_kept_in_l2"); }
