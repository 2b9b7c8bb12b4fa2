// Rung 3, past the articles: 128 bits an access, and the row stays in registers.
//
// Change from rung 2: a thread holds one vector of eight elements in its registers, and asks for its part of gamma before
// it waits for the row. As many threads as the row has vectors.
// Expect: a quarter of the memory instructions, no shared memory but for the sums; every byte from and to the memory once:
// as fast as the device's copy, whose threads have one vector each as well.
//
//      row of 4096, 512 threads   | t0 | t1 | t2 | ... | t511 |     16 bytes each
//      4 blocks an SM: at most 32 KB under way while rows are awaited
//
// Rows wider than 8192 take 1024 threads of two or four vectors. Any width and alignment: what no vector divides, is off its
// alignment or wider than 32768 goes the way of rung 1.
#include "normalise.cuh"
#include "rmsnorm.cuh"

struct Launch {
    template <class Element>
    static bool of(const harness::Rows<Element>& rows) {
        normalise_rows(rows);
        return true;
    }
};

int main(int argc, char** argv) { return run_rung<Launch>(argc, argv, "03_registers"); }
