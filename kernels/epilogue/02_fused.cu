// Rung 2: the product applies GELU to its elements while they are still in registers.
//
// Change from rung 1: no second kernel.
// Expect: the product's time alone; the activation's arithmetic is a few of a thousand instructions an element.
#include "epilogue.cuh"

__global__ void __launch_bounds__(THREADS) epilogue_02_fused(Layer layer) { multiply<Gelu>(layer); }

void launch(const Layer& layer) { epilogue_02_fused<<<grid_of(layer), THREADS>>>(layer); }

int main(int argc, char** argv) { return harness::run<LayerTask>(argc, argv, {"02_fused", launch}); }
