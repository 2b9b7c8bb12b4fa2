// The task of this ladder: out = GELU(A * B), FP32, A m x k, B k x n, as a layer of a neural network computes it; and a product
// that takes what is done to each element of it as a parameter.
#pragma once

#include "../harness/program.cuh"

struct Layer {
    int m, n, k;
    const float *a, *b;
    float* out;
};

struct LayerDifference {
    unsigned long long wrong, not_finite;
};

// Each element against FP64: 2^-20 of the sum of the magnitudes that were added may be lost, GELU is no steeper than 1.13.
__global__ static void compare_layer(Layer layer, LayerDifference* found) {
    const size_t count = size_t(layer.m) * layer.n;
    for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < count; i += size_t(gridDim.x) * blockDim.x) {
        const size_t row = i / layer.n, column = i % layer.n;
        double sum = 0, magnitude = 0;
        for (int k = 0; k < layer.k; ++k) {
            const double product = double(layer.a[row * layer.k + k]) * double(layer.b[size_t(k) * layer.n + column]);
            sum += product;
            magnitude += fabs(product);
        }
        const double off = fabs(double(layer.out[i]) - sum * normcdf(sum));
        if (!isfinite(layer.out[i])) atomicAdd(&found->not_finite, 1ull);
        else if (!(off <= 0x1p-20 * magnitude)) atomicAdd(&found->wrong, 1ull);
    }
}

class LayerTask {
  public:
    struct Rung {
        const char* name;
        void (*launch)(const Layer&);
    };
    static std::vector<harness::Parameter> parameters() { return {{"m", 8192}, {"n", 4096}, {"k", 1024}}; }

    LayerTask(const harness::Options& options, const Rung& rung)
        : rung_(rung), a_(options["m"] * options["k"]), b_(options["k"] * options["n"]), out_(options["m"] * options["n"]),
          layer_{int(options["m"]), int(options["n"]), int(options["k"]), a_.data(), b_.data(), out_.data()} {
        harness::fill_uniform(a_.data(), a_.count(), options.seed);
        harness::fill_uniform(b_.data(), b_.count(), ~options.seed);
        poison();
    }
    const char* precision() const { return "fp32"; }
    bool launch() {
        rung_.launch(layer_);
        return true;
    }
    const char* reference() const { return ""; }
    bool prepare_reference() { return false; }
    void launch_reference() {}
    harness::Work work() const { return {2.0 * layer_.m * layer_.n * layer_.k, "gflops"}; }
    harness::Check check() {
        launch();
        return check_last();
    }
    void poison() { out_.fill_bytes(0xFF); }
    const harness::DeviceBuffer<float>& output() const { return out_; }
    harness::Check check_last() {
        harness::Tally<LayerDifference> sums;
        compare_layer<<<4096, 256>>>(layer_, sums.data());
        const LayerDifference found = sums.read();
        harness::Check check{double(found.wrong), 0, found.not_finite};
        if (found.wrong) check.wrong = std::to_string(found.wrong) + " elements are further off than allowed";
        return check;
    }

  private:
    Rung rung_;
    harness::DeviceBuffer<float> a_, b_, out_;
    Layer layer_;
};

__device__ __forceinline__ float gelu(float x) { return x * normcdff(x); }

struct Nothing {
    static __device__ __forceinline__ float of(float x) { return x; }
};
struct Gelu {
    static __device__ __forceinline__ float of(float x) { return gelu(x); }
};

constexpr int BM = 128, BN = 128, BK = 8, TM = 8, TN = 8, THREADS = (BM / TM) * (BN / TN);

// The tile of variant 2 of ../gemm-variants; `Last` is done to each element before it is stored.
template <class Last>
__device__ __forceinline__ void multiply(const Layer& layer) {
    __shared__ alignas(16) float as[BK * BM], bs[BK * BN];
    const int n = layer.n, k = layer.k, row0 = blockIdx.y * BM, col0 = blockIdx.x * BN;
    const int row = threadIdx.x / (BN / TN) * TM, col = threadIdx.x % (BN / TN) * TN;
    const int a_row = threadIdx.x / (BK / 4), a_col = threadIdx.x % (BK / 4) * 4;
    const int b_row = threadIdx.x / (BN / 4), b_col = threadIdx.x % (BN / 4) * 4;
    float sum[TM][TN] = {};
    for (int k0 = 0; k0 < k; k0 += BK) {
        const float4 part = *reinterpret_cast<const float4*>(layer.a + size_t(row0 + a_row) * k + k0 + a_col);
        as[(a_col + 0) * BM + a_row] = part.x;
        as[(a_col + 1) * BM + a_row] = part.y;
        as[(a_col + 2) * BM + a_row] = part.z;
        as[(a_col + 3) * BM + a_row] = part.w;
        *reinterpret_cast<float4*>(&bs[b_row * BN + b_col]) =
            *reinterpret_cast<const float4*>(layer.b + size_t(k0 + b_row) * n + col0 + b_col);
        __syncthreads();
        for (int kk = 0; kk < BK; ++kk) {
            float a_part[TM], b_part[TN];
            for (int i = 0; i < TM; ++i) a_part[i] = as[kk * BM + row + i];
            for (int j = 0; j < TN; ++j) b_part[j] = bs[kk * BN + col + j];
            for (int i = 0; i < TM; ++i)
                for (int j = 0; j < TN; ++j) sum[i][j] += a_part[i] * b_part[j];
        }
        __syncthreads();
    }
    for (int i = 0; i < TM; ++i)
        for (int j = 0; j < TN; j += 4)
            *reinterpret_cast<float4*>(layer.out + size_t(row0 + row + i) * n + col0 + col + j) =
                make_float4(Last::of(sum[i][j]), Last::of(sum[i][j + 1]), Last::of(sum[i][j + 2]), Last::of(sum[i][j + 3]));
}

// Refuses shapes that are no whole tiles: what the two rungs compare is where the activation stands.
inline dim3 grid_of(const Layer& layer) {
    if (layer.m % BM || layer.n % BN || layer.k % BK)
        harness::fail(harness::UNSUPPORTED, "m = %d, n = %d and k = %d are no whole tiles of %d x %d x %d", layer.m, layer.n,
                      layer.k, BM, BN, BK);
    return dim3(layer.n / BN, layer.m / BM);
}
