// Rung 0: the device's own copy of as many bytes as a transposition reads and writes.
#include "transpose.cuh"

int main(int argc, char** argv) { return harness::run_memcpy<Transposition>(argc, argv); }
