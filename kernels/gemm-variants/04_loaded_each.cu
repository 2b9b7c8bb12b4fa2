// Variant 4: the operands of each FMA are loaded for it, 128 loads a k-step.
//
// Change from variant 3: shared memory is volatile, so that the compiler may not keep what it has loaded.
// Expect: one LDS for each operand of each FMA, and the LSU pipe as the wall.
#define OPERANDS LOADED_EACH
#define KERNEL gemm_variants_04_loaded_each
#define NAME "04_loaded_each"
#include "plain.cuh"
