// Rung 3, past the articles: 128 bits an access, and the row stays in registers.
//
// Change from rung 2: a thread holds its eights of the row in registers, asks for all of them and for its part of gamma
// before it waits for any, and reads and writes with the streaming hint.
// Expect: a quarter of the memory instructions, no shared memory but for the sums; every byte from and to the memory once,
// and all of a row under way at once: as fast as the device's copy.
//
//      row of 4096, 256 threads   | t0 t1 ... t255 | t0 t1 ... t255 |     16 bytes each, two a thread
//      8 blocks an SM: 64 KB under way while rows are awaited
//
// Shapes are chosen by the width (row.cuh). Any width and alignment: what no vector divides, is off its alignment or wider
// than 32768 goes the way of rung 1.
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
