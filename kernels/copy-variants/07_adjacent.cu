// Variant 7: one thread copies four neighbouring floats, through plain pointers.
//
// Change from variant 1: four elements a thread, in a row.
// Expect: four accesses of 32 bits, each of which takes a quarter of every sector that the warp asks for. The compiler may
// neither widen them, as it does not know the alignment, nor load ahead, as the arrays may overlap.
#define FROM const float*
#define TO float*
#define KNOWN(pointer) (pointer)
#define KERNEL copy_variants_07_adjacent
#define NAME "07_adjacent"
#include "adjacent.cuh"
