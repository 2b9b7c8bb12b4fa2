// Variant 5: one thread copies an int4.
//
// Change from variant 2: the vector's type.
// Expect: nothing. An access of 128 bits does not know what it moves.
#define VECTOR int4
#define KERNEL copy_variants_05_int4
#define NAME "05_int4"
#include "vector.cuh"
