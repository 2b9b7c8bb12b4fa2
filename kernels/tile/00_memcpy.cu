// Rung 0: the device's own copy of as many bytes, the figure that every other rung is a percentage of.
#include "tile.cuh"

int main(int argc, char** argv) { return harness::run_memcpy<Task>(argc, argv); }
