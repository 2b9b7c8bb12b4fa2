// Rung 0: the device's own copy of as many bytes: half of them read, half of them written.
#include "sum.cuh"

int main(int argc, char** argv) { return harness::run_memcpy<Sum>(argc, argv); }
