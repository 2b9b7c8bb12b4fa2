// Variant 6: one thread copies a double2.
//
// Change from variant 2: the vector's type.
// Expect: nothing. An access of 128 bits does not know what it moves.
#define VECTOR double2
#define KERNEL copy_variants_06_double2
#define NAME "06_double2"
#include "vector.cuh"
