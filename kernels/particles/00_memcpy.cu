// Rung 0: the device's own copy of as many bytes as moving the particles needs.
#include "particles.cuh"

int main(int argc, char** argv) { return harness::run_memcpy<Motion>(argc, argv); }
