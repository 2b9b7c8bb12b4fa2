// Rung 1: a product, and then a kernel that applies GELU to each element of it.
//
// Expect: the product's time and that of reading and writing 134 MB once more, some 65 us, less what the L2 has kept.
#include "epilogue.cuh"

__global__ void __launch_bounds__(THREADS) epilogue_01_product(Layer layer) { multiply<Nothing>(layer); }

__global__ void __launch_bounds__(256) epilogue_01_activation(float4* out, size_t vectors) {
    const size_t i = blockIdx.x * size_t(256) + threadIdx.x;
    if (i >= vectors) return;
    const float4 v = out[i];
    out[i] = make_float4(gelu(v.x), gelu(v.y), gelu(v.z), gelu(v.w));
}

void launch(const Layer& layer) {
    epilogue_01_product<<<grid_of(layer), THREADS>>>(layer);
    const size_t vectors = size_t(layer.m) * layer.n / 4;  // whole blocks, as tiles are
    epilogue_01_activation<<<unsigned(vectors / 256), 256>>>(reinterpret_cast<float4*>(layer.out), vectors);
}

int main(int argc, char** argv) { return harness::run<LayerTask>(argc, argv, {"01_apart", launch}); }
