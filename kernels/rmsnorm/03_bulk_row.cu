// Rung 3, past the articles: a row arrives by one bulk copy, and is read and written once, 128 bits at a time.
//
// Change from rung 2: one thread asks the copy engine for the whole row; every thread takes two vectors of eight elements
// from shared memory to registers, adds their squares, and writes them scaled. Gamma is asked for while the row comes.
// Expect: a quarter of the memory instructions and none that load the row: UBLKCP; every byte from and to the memory once;
// as fast as the device's copy.
//
//      row of 4096 --UBLKCP--> | shared memory, 8 KB |        256 threads: | t0 ... t255 | t0 ... t255 |   16 bytes each
//      6 blocks an SM, by registers: 48 KB under way; 32 KB are too few and 64 KB, with 32 registers a thread, too many
//
// Rows wider than 12288 take four vectors a thread. Any width and alignment: what no vector divides, is off its alignment or
// wider than 32768 goes the way of rung 1.
#include "normalise.cuh"
#include "rmsnorm.cuh"

struct Launch {
    template <class Element>
    static bool of(const harness::Rows<Element>& rows) {
        normalise_rows(rows);
        return true;
    }
};

int main(int argc, char** argv) { return run_rung<Launch>(argc, argv, "03_bulk_row"); }
